package inventory

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"portico/arm"
	"portico/inventory/engine"
	"portico/inventory/transaction"
)

// TagName is a tag name that clients have defined ahead of its use, with its defined
// values.
type TagName struct {
	Key    string // the folded name
	Name   string // as the PUT that defined it wrote it
	Values []string
}

// Defines reports whether a value is defined or, with "", the name itself.
func (n TagName) Defines(value string) bool {
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

// DefineTag defines a tag name or, unless it is empty, a value for a defined name;
// ErrNotFound where the name is not defined. It returns the name as it is then, and
// whether what was asked for is new. check judges the name as it was, the zero TagName
// where it was not defined: it runs inside the writing transaction and must be pure, and
// its error is returned as it is. The subscription must admit the change:
// ErrSubscriptionNotFound, *SubscriptionStateError. The number of names and values is
// limited: *transaction.QuotaError. etag is as for [Store.EditSubscriptionTags].
func (s *Store) DefineTag(ctx context.Context, sub, name, value string, check func(TagName) error, etag func(TagName) string) (TagName, bool, error) {
	result, err := commit(ctx, s, engine.Flushed, transaction.SubscriptionLocks(sub), func(t *tx) (put[TagName], error) {
		sub := arm.Fold(sub)
		if _, err := t.openSubscription(sub, false); err != nil {
			return put[TagName]{}, err
		}
		defined, err := loadTagName(t, sub, name)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return put[TagName]{}, err
		}
		if err := check(defined); err != nil {
			return put[TagName]{}, err
		}
		switch {
		case defined.Defines(value):
			return put[TagName]{stored: defined}, nil
		case value == "":
			defined.Key, defined.Name = arm.Fold(name), name
		case defined.Name == "":
			return put[TagName]{}, ErrNotFound
		default:
			defined.Values = append(defined.Values, value)
		}
		spelling := name
		if value != "" {
			spelling = value
		}
		if _, err := t.Exec(insertTagName, sub, defined.Key, value, spelling, engine.Micros(t.Now)); err != nil {
			return put[TagName]{}, err
		}
		if err := t.recordTagName(sub, name, value, writeVerb, tagOf(etag, defined)); err != nil {
			return put[TagName]{}, err
		}
		err = t.RaiseUsage(transaction.UsageOf(sub, "", transaction.TagNames), 1, s.options.Limits.TagNamesPerSubscription)
		return put[TagName]{stored: defined, created: true}, err
	})
	return result.stored, result.created, err
}

// ErrHasValues refuses to remove a tag name that has defined values.
var ErrHasValues = errors.New("inventory: values are defined for the tag")

// RemoveTag removes a defined name or, unless it is empty, a value of it, and reports
// whether there was one. The subscription must admit it, and check judges it, as for
// DefineTag; but check is not asked where there is nothing to remove.
func (s *Store) RemoveTag(ctx context.Context, sub, name, value string, check func(TagName) error) (removed bool, err error) {
	return commit(ctx, s, engine.Flushed, transaction.SubscriptionLocks(sub), func(t *tx) (bool, error) {
		sub := arm.Fold(sub)
		if _, err := t.openSubscription(sub, true); err != nil {
			return false, err
		}
		defined, err := loadTagName(t, sub, name)
		if errors.Is(err, ErrNotFound) || err == nil && !defined.Defines(value) {
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
			return false, err
		}
		if err := t.recordTagName(sub, name, value, deleteVerb, ""); err != nil {
			return false, err
		}
		return true, t.LowerUsage(transaction.UsageOf(sub, "", transaction.TagNames), 1)
	})
}

// TagName returns a defined name, or ErrNotFound.
func (s *Store) TagName(ctx context.Context, sub, name string) (TagName, error) {
	return loadTagName(s.read(ctx), arm.Fold(sub), name)
}

func loadTagName(from engine.Source, sub, name string) (TagName, error) {
	defined := TagName{}
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
		err = ErrNotFound
	}
	return defined, err
}

// NextTagName returns the folded name, after the given one, of the next tag that is
// defined or that a resource has; "" at the end.
func (s *Store) NextTagName(ctx context.Context, sub, after string) (next string, err error) {
	from := s.read(ctx)
	for _, statement := range [...]string{nextTagName, nextTagInUse} {
		var name string
		switch err := from.One(statement, arm.Fold(sub), arm.Fold(after))(&name); {
		case errors.Is(err, sql.ErrNoRows):
		case err != nil:
			return "", err
		case next == "" || name < next:
			next = name
		}
	}
	return next, nil
}
