package engine

import "context"

type rehearsalKey struct{}

// Rehearse returns a context whose writes change nothing: each runs in a transaction of its
// own, which is rolled back at its end. Callers get the results that a commit would give
// them. A second write does not see the first.
func Rehearse(ctx context.Context) context.Context {
	return context.WithValue(ctx, rehearsalKey{}, true)
}

// ForReal returns a context whose writes are committed, even within a rehearsal.
func ForReal(ctx context.Context) context.Context {
	return context.WithValue(ctx, rehearsalKey{}, false)
}

func rehearsed(ctx context.Context) bool {
	is, _ := ctx.Value(rehearsalKey{}).(bool)
	return is
}

// isRehearsal reports whether the group is one rehearsed write. Its statements run at once
// and without proofs, because postponed ones would never run without a commit.
func (g *groupCommit) isRehearsal() bool { return len(g.members) == 1 && g.members[0].rehearsed }

// rehearse runs a rehearsal up to its commit, and rolls it back. It does not call
// Unit.Ended, because remembered rows stay valid.
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
