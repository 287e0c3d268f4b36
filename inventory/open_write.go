package inventory

import (
	"context"
	"time"

	"portico/arm"
	"portico/inventory/engine"
	"portico/inventory/index"
)

// OpenWrite is a write that may still be applied.
type OpenWrite struct {
	Key    string // of the resource
	Kind   index.WriteKind
	Region string
	Begun  time.Time
	// NotAfter is when its call ends at the latest; CallEnded: its sender has recorded
	// the end of the call, but no definite answer.
	NotAfter  time.Time
	CallEnded bool
	// Ends is when the write can no longer be applied; the zero time where only its job
	// ends it.
	Ends time.Time
}

const (
	selectOpenWrites = `SELECT key, kind, region, send_by, not_after, ended, ends FROM intents WHERE subscription = ?`

	openWrites  = selectOpenWrites + ` AND key = ? ORDER BY ends DESC LIMIT ?`
	groupWrites = selectOpenWrites + ` AND grp = ? ORDER BY ends DESC LIMIT ?`
	groupCalls  = selectOpenWrites + ` AND grp = ? AND (ended = 0 AND not_after > ? OR kind = ?) ORDER BY not_after DESC LIMIT ?`
)

func (s *Store) scanOpenWrite(scan engine.Scanner) (w OpenWrite, err error) {
	var sendBy, notAfter, ends int64
	err = scan(&w.Key, &w.Kind, &w.Region, &sendBy, &notAfter, &w.CallEnded, &ends)
	w.Key = resourceKey(w.Key)
	w.Begun, w.NotAfter = engine.Moment(sendBy).Add(-s.options.SendWithin), engine.Moment(notAfter)
	if ends != engine.Micros(neverEnds) {
		w.Ends = engine.Moment(ends)
	}
	return w, err
}

// GroupCalls lists at most limit writes that keep a group from being deleted, as
// their calls may be running, the longest first.
func (s *Store) GroupCalls(ctx context.Context, sub, group string, limit int) ([]OpenWrite, error) {
	return engine.Collect(s.engine.Read(ctx), s.scanOpenWrite, groupCalls, arm.Fold(sub), arm.Fold(group), engine.Micros(s.engine.Now()), index.Move, engine.AtMost(limit))
}

// GroupWrites lists at most limit writes that keep a group from being reopened, as
// they may yet be applied, the last to end first.
func (s *Store) GroupWrites(ctx context.Context, sub, group string, limit int) ([]OpenWrite, error) {
	return engine.Collect(s.engine.Read(ctx), s.scanOpenWrite, groupWrites, arm.Fold(sub), arm.Fold(group), engine.AtMost(limit))
}
