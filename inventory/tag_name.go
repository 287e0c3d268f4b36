package inventory

import (
	"context"
	"database/sql"
	"errors"

	"portico/arm"
	"portico/inventory/engine"
)

// TagName is a tag name that clients have defined ahead of its use, with its defined
// values.
type TagName struct {
	Key    string // the folded name
	Name   string // as the PUT that defined it wrote it
	Values []string
}

const (
	insertTagName = `INSERT INTO tag_names (subscription, name, value, spelling, created) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (subscription, name, value) DO NOTHING`
	selectTagName = `SELECT name, value, spelling FROM tag_names WHERE subscription = ? AND name = ? ORDER BY value`
	nextTagName   = `SELECT name FROM tag_names WHERE subscription = ? AND name > ? ORDER BY name LIMIT 1`
	deleteTagName = `DELETE FROM tag_names WHERE subscription = ? AND name = ? AND value = ?`
	hasTagName    = `SELECT spelling FROM tag_names WHERE subscription = ? AND name = ? AND value = ''`
	nextTagInUse  = `SELECT tag FROM resource_tags WHERE subscription = ? AND tag > ? ORDER BY tag LIMIT 1`
)

// DefineTag defines a tag name or, unless it is empty, a value for a defined name;
// ErrNotFound where the name is not defined. It reports whether that is new. The
// subscription must admit the change: ErrSubscriptionNotFound,
// *SubscriptionStateError. The number of names and values is limited: *QuotaError.
func (s *Store) DefineTag(ctx context.Context, sub, name, value string) (created bool, err error) {
	return commit(ctx, s, engine.Flushed, subscriptionLocks(sub), func(t *tx) (bool, error) {
		sub := arm.Fold(sub)
		if _, err := t.openSubscription(sub, false); err != nil {
			return false, err
		}
		spelling := name
		if value != "" {
			var defined string
			err := t.One(hasTagName, sub, arm.Fold(name))(&defined)
			if errors.Is(err, sql.ErrNoRows) {
				err = ErrNotFound
			}
			if err != nil {
				return false, err
			}
			spelling = value
		}
		n, err := t.Exec(insertTagName, sub, arm.Fold(name), value, spelling, engine.Micros(t.Now))
		if err != nil || n == 0 {
			return false, err
		}
		if err := t.recordTagName(sub, name, value, writeVerb); err != nil {
			return false, err
		}
		return true, raiseUsage(t, usage{subscription: sub, typ: countedTagNames}, s.options.Limits.TagNamesPerSubscription)
	})
}

// ErrHasValues refuses to remove a tag name that has defined values.
var ErrHasValues = errors.New("inventory: values are defined for the tag")

// RemoveTag removes a defined name or, unless it is empty, a value of it, and reports
// whether there was one. The subscription must admit it, as for DefineTag.
func (s *Store) RemoveTag(ctx context.Context, sub, name, value string) (removed bool, err error) {
	return commit(ctx, s, engine.Flushed, subscriptionLocks(sub), func(t *tx) (bool, error) {
		sub := arm.Fold(sub)
		if _, err := t.openSubscription(sub, true); err != nil {
			return false, err
		}
		if value == "" {
			defined, err := loadTagName(t, sub, name)
			switch {
			case errors.Is(err, ErrNotFound):
				return false, nil
			case err != nil:
				return false, err
			case len(defined.Values) > 0:
				return false, ErrHasValues
			}
		}
		n, err := t.Exec(deleteTagName, sub, arm.Fold(name), value)
		if err != nil || n == 0 {
			return false, err
		}
		if err := t.recordTagName(sub, name, value, deleteVerb); err != nil {
			return false, err
		}
		return true, lowerUsage(t, usage{subscription: sub, typ: countedTagNames})
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
