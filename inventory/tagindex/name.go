// Package tagindex stores the tag names that clients have defined before their use, and an
// index of the tags that resources have.
package tagindex

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"portico/arm"
	"portico/events"
	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/inventory/transaction"
)

// Tags stores tag names and the index of tags.
type Tags struct {
	database *transaction.Database
	limit    int
}

// New returns the tags of a database. limit bounds the names and values that are defined in
// one subscription; 0 means no limit.
func New(d *transaction.Database, limit int) *Tags { return &Tags{database: d, limit: limit} }

// Name is a tag name that clients have defined before its use, with its defined values.
type Name struct {
	Key    string // the folded name
	Name   string // in the casing of the PUT that defined it
	Values []string
}

// Defines reports whether a value is defined; "" stands for the name itself.
func (n Name) Defines(value string) bool {
	return value == "" && n.Name != "" || slices.Contains(n.Values, value)
}

const (
	insertTagName = `INSERT INTO tag_names (subscription, name, value, spelling, created) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (subscription, name, value) DO NOTHING`
	selectTagName = `SELECT name, value, spelling FROM tag_names WHERE subscription = ? AND name = ? ORDER BY value`
	nextTagName   = `SELECT name FROM tag_names WHERE subscription = ? AND name > ? ORDER BY name LIMIT 1`
	deleteTagName = `DELETE FROM tag_names WHERE subscription = ? AND name = ? AND value = ?`
	nextTagInUse  = `SELECT tag FROM resource_tags WHERE subscription = ? AND tag > ? ORDER BY tag LIMIT 1`
)

// Define defines a tag name if value is empty, and otherwise a value of a defined name. It
// returns the resulting name, and whether the name or value is new.
//
// check gets the present name, the zero Name if it is not defined. It runs in the writing
// transaction and must be pure; Define returns its error unchanged. Other errors are
// engine.ErrNotFound for a value of an undefined name, inventory.ErrSubscriptionNotFound and
// *inventory.SubscriptionStateError if the subscription does not admit the change, and
// *transaction.QuotaError at the limit. etag is as for inventory.Store.EditSubscriptionTags.
func (d *Tags) Define(ctx context.Context, sub, name, value string, check func(Name) error, etag func(Name) string) (Name, bool, error) {
	return transaction.Put(ctx, d.database, transaction.SubscriptionLocks(sub), func(t *transaction.Tx) (defined Name, created bool, err error) {
		sub := arm.Fold(sub)
		if err := t.Scopes.OpenSubscription(sub, "", false); err != nil {
			return Name{}, false, err
		}
		defined, err = loadTagName(t, sub, name)
		if err != nil && !errors.Is(err, engine.ErrNotFound) {
			return Name{}, false, err
		}
		if err := check(defined); err != nil {
			return Name{}, false, err
		}
		switch {
		case defined.Defines(value):
			return defined, false, nil
		case value == "":
			defined.Key, defined.Name = arm.Fold(name), name
		case defined.Name == "":
			return Name{}, false, engine.ErrNotFound
		default:
			defined.Values = append(defined.Values, value)
		}
		spelling := name
		if value != "" {
			spelling = value
		}
		if _, err := t.Exec(insertTagName, sub, defined.Key, value, spelling, engine.Micros(t.Now)); err != nil {
			return Name{}, false, fmt.Errorf("insert a tag name: %w", err)
		}
		tag := ""
		if etag != nil {
			tag = etag(defined)
		}
		if err := recordChange(t, sub, name, value, index.WriteVerb, tag); err != nil {
			return Name{}, false, err
		}
		return defined, true, t.RaiseUsage(transaction.UsageOf(sub, "", transaction.TagNames), 1, d.limit)
	})
}

func recordChange(t *transaction.Tx, sub, name, value, verb, etag string) error {
	id, action := "/subscriptions/"+sub+"/tagNames/"+name, "Microsoft.Resources/subscriptions/tagNames"
	if value != "" {
		id, action = id+"/tagValues/"+value, action+"/tagValues"
	}
	return t.RecordOwn(sub, events.Payload{Resource: id, Action: action + verb, Status: events.Succeeded, ETag: etag})
}

// ErrHasValues refuses to remove a tag name that has defined values.
var ErrHasValues = errors.New("inventory: values are defined for the tag")

// Remove removes a defined name if value is empty, and otherwise a value of it. It reports
// whether there was one. check and the subscription may refuse the removal as in Define; check
// is not called if there is nothing to remove.
func (d *Tags) Remove(ctx context.Context, sub, name, value string, check func(Name) error) (removed bool, err error) {
	return transaction.Commit(ctx, d.database, engine.Flushed, transaction.SubscriptionLocks(sub), func(t *transaction.Tx) (bool, error) {
		sub := arm.Fold(sub)
		if err := t.Scopes.OpenSubscription(sub, "", true); err != nil {
			return false, err
		}
		defined, err := loadTagName(t, sub, name)
		if errors.Is(err, engine.ErrNotFound) || err == nil && !defined.Defines(value) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if err := check(defined); err != nil {
			return false, err
		}
		if value == "" && len(defined.Values) > 0 {
			return false, ErrHasValues
		}
		if _, err := t.Exec(deleteTagName, sub, defined.Key, value); err != nil {
			return false, fmt.Errorf("delete a tag name: %w", err)
		}
		if err := recordChange(t, sub, name, value, index.DeleteVerb, ""); err != nil {
			return false, err
		}
		return true, t.LowerUsage(transaction.UsageOf(sub, "", transaction.TagNames), 1)
	})
}

// Name returns a defined name, or engine.ErrNotFound.
func (d *Tags) Name(ctx context.Context, sub, name string) (Name, error) {
	return loadTagName(d.database.Read(ctx), arm.Fold(sub), name)
}

func loadTagName(from engine.Source, sub, name string) (Name, error) {
	defined := Name{}
	err := from.Each(func(scan engine.Scanner) error {
		var value, spelling string
		if err := scan(&defined.Key, &value, &spelling); err != nil {
			return err
		}
		if value == "" {
			defined.Name = spelling
		} else {
			defined.Values = append(defined.Values, value)
		}
		return nil
	}, selectTagName, sub, arm.Fold(name))
	if err == nil && defined.Key == "" {
		err = engine.ErrNotFound
	}
	return defined, err
}

// Next returns the folded name of the next tag, after the given one, that is defined or
// that a resource has; "" at the end.
func (d *Tags) Next(ctx context.Context, sub, after string) (next string, err error) {
	from := d.database.Read(ctx)
	for _, statement := range [...]string{nextTagName, nextTagInUse} {
		var name string
		switch err := from.One(statement, arm.Fold(sub), arm.Fold(after))(&name); {
		case errors.Is(err, sql.ErrNoRows):
		case err != nil:
			return "", fmt.Errorf("read the next tag name: %w", err)
		case next == "" || name < next:
			next = name
		}
	}
	return next, nil
}
