package inventory

import (
	"context"
	"encoding/json"
	"fmt"

	"portico/arm"
	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/inventory/transaction"
)

const updateSubscriptionTags = `UPDATE subscriptions SET tags = ?, changed = ? WHERE subscription = ?`

// EditSubscriptionTags changes the tags of a subscription. edit gets a copy of the
// present tags and returns all wanted ones; it runs inside the writing transaction
// and must be pure, and its error is returned as it is. The subscription must admit a
// change of the kind, and no lock on it forbid it: ErrSubscriptionNotFound,
// *SubscriptionStateError, *LockedError. etag makes the entity tag of the result, which is
// told of; nil: none.
func (s *Store) EditSubscriptionTags(ctx context.Context, sub string, kind index.WriteKind, edit func(map[string]string) (map[string]string, error), etag func(map[string]string) string) (map[string]string, error) {
	sub = arm.Fold(sub)
	return commit(ctx, s, engine.Flushed, transaction.SubscriptionLocks(sub), func(t *tx) (map[string]string, error) {
		current, err := t.openSubscription(sub, kind == index.Delete)
		if err != nil {
			return nil, err
		}
		locks, err := engine.Collect(t, scanLock, listLocks, sub, subscriptionScope(sub))
		if err != nil {
			return nil, err
		}
		if err := forbidden(locks, kind, subscriptionScope(sub)); err != nil {
			return nil, err
		}
		tags, err := edit(current.Tags)
		if err != nil {
			return nil, err
		}
		text, err := storedTags(tags)
		if err != nil {
			return nil, err
		}
		t.ChangesScope(sub)
		if err := t.recordSubscriptionTags(sub, kind, tagOf(etag, tags)); err != nil {
			return nil, err
		}
		return tags, t.Later(updateSubscriptionTags, text, engine.Micros(t.Now), sub)
	})
}

// tagOf makes an entity tag, "" where nothing makes one.
func tagOf[T any](etag func(T) string, of T) string {
	if etag == nil {
		return ""
	}
	return etag(of)
}

// readTags reads stored tags. Most subscriptions have none, and every request reads
// one.
func readTags(text, of string) (tags map[string]string, err error) {
	if text == "{}" || text == "null" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(text), &tags); err != nil {
		return nil, fmt.Errorf("tags of %s: %w", of, err)
	}
	return tags, nil
}
