package engine

import "context"

type rehearsalKey struct{}

// Rehearse returns a context whose writes change nothing: each has a transaction of its
// own, which runs to its end and is rolled back. Its caller gets what it would get after
// the commit. A second write does not see the first.
func Rehearse(ctx context.Context) context.Context {
	return context.WithValue(ctx, rehearsalKey{}, true)
}

// ForReal returns a context whose writes are committed, even within a rehearsal.
func ForReal(ctx context.Context) context.Context {
	return context.WithValue(ctx, rehearsalKey{}, false)
}

// rehearsed reports whether the writes of a context change nothing.
func rehearsed(ctx context.Context) bool {
	is, _ := ctx.Value(rehearsalKey{}).(bool)
	return is
}

// rehearsal reports whether the group is one write that is only rehearsed. Its statements
// run at once, and nothing is left to a proof, because without a commit none would be run.
func (g *groupCommit) rehearsal() bool { return len(g.members) == 1 && g.members[0].rehearsed }

// rehearse runs the group, which is a rehearsal, up to its commit, and rolls it back.
// The memory of the rows stays valid, so the unit does not end.
func (g *groupCommit) rehearse(t *Tx, unit Unit, conn Conn) error {
	_, err := g.runMembers(t, unit)
	if r := &g.results[0]; err == nil && r.err == nil && r.panicked == nil {
		err = unit.Complete()
	}
	if failed := conn.Rollback(); err == nil {
		err = failed
	}
	return err
}
