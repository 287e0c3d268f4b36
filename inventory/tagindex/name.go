// Package tagindex keeps the tag names that clients have defined ahead of their use, and an
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

// Tags are those of a database.
type Tags struct {
	database *transaction.Database
	limit    int
}

// New returns the tags of a database, with the limit of the names and values that are
// defined in one subscription; 0 for none.
func New(d *transaction.Database, limit int) *Tags { return &Tags{database: d, limit: limit} }

// Name is a tag name that clients have defined ahead of its use, with its defined
// values.
type Name struct {
	Key    string // the folded name
	Name   string // as the PUT that defined it wrote it
	Values []string
}

// Defines reports whether a value is defined or, with "", the name itself.
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

// Define defines a tag name or, unless it is empty, a value for a defined name; the
// error is engine.ErrNotFound if the name is not defined. Define returns the resulting
// name, and whether the name or value is new. check judges the name as it was, the zero
// Name if it was not defined: it runs inside the writing transaction and must be pure,
// and Define returns its error as it is. The subscription must admit the change:
// inventory.ErrSubscriptionNotFound, *inventory.SubscriptionStateError. The number of
// names and values is limited: *transaction.QuotaError. etag is as for
// inventory.Store.EditSubscriptionTags.
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
		if err := record(t, sub, name, value, index.WriteVerb, tag); err != nil {
			return Name{}, false, err
		}
		return defined, true, t.RaiseUsage(transaction.UsageOf(sub, "", transaction.TagNames), 1, d.limit)
	})
}

// record records that a tag name, or a value of it, was defined or removed.
func record(t *transaction.Tx, sub, name, value, verb, etag string) error {
	id, action := "/subscriptions/"+sub+"/tagNames/"+name, "Microsoft.Resources/subscriptions/tagNames"
	if value != "" {
		id, action = id+"/tagValues/"+value, action+"/tagValues"
	}
	return t.RecordOwn(sub, events.Payload{Resource: id, Action: action + verb, Status: events.Succeeded, ETag: etag})
}

// ErrHasValues refuses to remove a tag name that has defined values.
var ErrHasValues = errors.New("inventory: values are defined for the tag")

// Remove removes a defined name or, unless it is empty, a value of it, and reports
// whether there was one. The subscription must admit it, and check judges it, as for
// Define; but check is not called if there is nothing to remove.
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
		if err := record(t, sub, name, value, index.DeleteVerb, ""); err != nil {
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

// Next returns the folded name, after the given one, of the next tag that is
// defined or that a resource has; "" at the end.
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
