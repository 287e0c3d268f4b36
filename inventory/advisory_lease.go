package inventory

import (
	"context"
	"time"

	"portico/arm"
	"portico/inventory/engine"
)

const (
	takeLease = `INSERT INTO turns (subscription, key, token, until) VALUES (?, ?, ?, ?)
		ON CONFLICT (subscription, key) DO NOTHING`
	takeOverLease = `UPDATE turns SET token = ?, until = ? WHERE subscription = ? AND key = ? AND until <= ?`
	endLease      = `DELETE FROM turns WHERE subscription = ? AND key = ? AND token = ?`
	// Turns last seconds, so that there are never many: they need no index by time.
	leftLeases  = `SELECT subscription, key FROM turns WHERE until <= ? ORDER BY subscription, key LIMIT ?`
	forgetLease = `DELETE FROM turns WHERE subscription = ? AND key = ? AND until <= ?`
)

// Turn is the right to change something of a resource at its provider, beside
// nobody else who asks for a turn.
type Turn struct {
	subscription, key string
	token             [16]byte
}

// TakeTurn takes the turn for a resource. It is not taken while somebody has it,
// who then has it for as long as it was asked for, at most. It is for changes
// that start from what is there: what is lost when two of them meet.
func (s *Store) TakeTurn(ctx context.Context, sub, key string, hold time.Duration) (turn Turn, taken bool, err error) {
	turn = Turn{arm.Fold(sub), arm.Fold(key), engine.NewID()}
	taken, err = commit(ctx, s, engine.Unflushed, recordLocks(sub), func(t *tx) (bool, error) {
		until := engine.Micros(t.Now.Add(hold))
		n, err := t.Exec(takeLease, turn.subscription, turn.key, turn.token[:], until)
		if err == nil && n == 0 {
			n, err = t.Exec(takeOverLease, turn.token[:], until, turn.subscription, turn.key, engine.Micros(t.Now))
		}
		return n == 1, err
	})
	return turn, taken, err
}

// EndTurn gives a turn back.
func (s *Store) EndTurn(ctx context.Context, turn Turn) error {
	return s.write(ctx, engine.Unflushed, recordLocks(turn.subscription), func(t *tx) error {
		return t.Later(endLease, turn.subscription, turn.key, turn.token[:])
	})
}

// ForgetTurns deletes at most limit turns that nobody gave back, as whoever had
// them is gone, and whose time is over. It returns how many it deleted.
func (s *Store) ForgetTurns(ctx context.Context, limit int) (int, error) {
	now := engine.Micros(s.engine.Now())
	left, err := engine.Collect(s.read(ctx), scanPair, leftLeases, now, engine.AtMost(limit))
	if err != nil {
		return 0, err
	}
	return engine.InPieces(ctx, s.engine, left, func(t *tx, piece []pair) (int, error) { return t.deleteAll(forgetLease, piece, now) })
}
