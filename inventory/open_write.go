package inventory

import (
	"context"
	"slices"
	"strings"
	"time"

	"portico/arm"
	"portico/inventory/engine"
	"portico/inventory/index"
)

// OpenWrite is a write that may still be applied.
type OpenWrite struct {
	Key     string // of the resource
	Kind    index.WriteKind
	Region  string
	Started time.Time
	// NotAfter is when its call ends at the latest. CallEnded: the sender recorded the end
	// of the call, but no definite answer.
	NotAfter  time.Time
	CallEnded bool
	// Ends is when the write can no longer be applied; zero if only its job ends it.
	Ends time.Time
}

const (
	selectOpenWrites = `SELECT key, kind, region, send_by, not_after, call_ended, ends FROM intents WHERE subscription = ?`

	openWrites  = selectOpenWrites + ` AND key = ? ORDER BY ends DESC LIMIT ?`
	groupWrites = selectOpenWrites + ` AND resource_group = ? ORDER BY ends DESC LIMIT ?`
	groupCalls  = selectOpenWrites + ` AND resource_group = ? AND (call_ended = 0 AND not_after > ? OR kind = ?) ORDER BY not_after DESC LIMIT ?`
)

func (s *Store) scanOpenWrite(scan engine.Scanner) (w OpenWrite, err error) {
	var sendBy, notAfter, ends int64
	err = scan(&w.Key, &w.Kind, &w.Region, &sendBy, &notAfter, &w.CallEnded, &ends)
	w.Key = resourceKey(w.Key)
	w.Started, w.NotAfter = engine.TimeOf(sendBy).Add(-s.options.SendWithin), engine.TimeOf(notAfter)
	if ends != engine.Micros(neverEnds) {
		w.Ends = engine.TimeOf(ends)
	}
	return w, err
}

// GroupCalls lists at most limit writes that prevent the deletion of a group because their
// calls may be running, the last to end first.
func (s *Store) GroupCalls(ctx context.Context, sub, group string, limit int) ([]OpenWrite, error) {
	return engine.Collect(s.engine.Read(ctx), s.scanOpenWrite, groupCalls,
		arm.Fold(sub), arm.Fold(group), engine.Micros(s.engine.Now()), index.Move, engine.LimitArg(limit))
}

// GroupWrites lists at most limit writes that prevent the reopening of a group because they
// may yet be applied, the last to end first.
func (s *Store) GroupWrites(ctx context.Context, sub, group string, limit int) ([]OpenWrite, error) {
	return engine.Collect(s.engine.Read(ctx), s.scanOpenWrite, groupWrites, arm.Fold(sub), arm.Fold(group), engine.LimitArg(limit))
}

// OpenWrites lists at most limit writes of a resource that may yet be applied, the last to
// end first.
func (s *Store) OpenWrites(ctx context.Context, sub, key string, limit int) ([]OpenWrite, error) {
	return engine.Collect(s.engine.Read(ctx), s.scanOpenWrite, openWrites, arm.Fold(sub), arm.Fold(key), engine.LimitArg(limit))
}

// ResourceAndRemoval returns a row, and reports whether a DELETE or a move of the resource,
// or of an ancestor, is open. In that case even a Live row proves nothing: the client may
// know that the resource is gone, although the settle that recorded it was lost. Both
// results are read together. The error is ErrNotFound if there is no row.
func (s *Store) ResourceAndRemoval(ctx context.Context, sub, key string) (row Resource, removalOpen bool, err error) {
	sub, key = arm.Fold(sub), arm.Fold(key)
	above := ancestry(key)
	args := append([]any{sub, index.Delete, index.Move}, above...)
	args = append(args, sub, key)
	row, err = scanResource(func(dest ...any) error {
		return s.engine.Read(ctx).One(selectWithRemoval(len(above)), args...)(append(dest, &removalOpen)...)
	})
	return row, removalOpen, engine.OrNotFound(err)
}

// selectWithRemoval returns the statement for n keys, a resource and its ancestors.
func selectWithRemoval(n int) string {
	keys := strings.Join(slices.Repeat([]string{"?"}, n), ", ")
	return `SELECT ` + resourceColumns + `,
		EXISTS (SELECT 1 FROM intents WHERE subscription = ? AND kind IN (?, ?) AND key IN (` + keys + `))
		FROM resources WHERE subscription = ? AND key = ?`
}

// ancestry lists the keys of a resource and of all its possible ancestors. Some may be
// prefixes without records in the store.
func ancestry(key string) []any {
	keys := []any{key}
	segments := 0
	for i := 1; i < len(key); i++ {
		if key[i] != '/' {
			continue
		}
		// After the scope and the namespace, types and names alternate.
		if segments++; segments > scopeSegments && segments%2 == 0 {
			keys = append(keys, key[:i])
		}
	}
	return keys
}

// scopeSegments is the number of segments of an ID before its first type: subscriptions,
// the id, resourceGroups, the name, providers, the namespace.
const scopeSegments = 6
