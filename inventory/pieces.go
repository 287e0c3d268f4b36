package inventory

import (
	"context"
	"slices"

	"portico/inventory/engine"
)

// pieceSize is how many records are ended or removed in one transaction.
const pieceSize = 100

// inPieces runs a write over records of all subscriptions that may be many, a
// piece in each transaction: none holds what it locks for long, or needs more
// time than a transaction has, and what was done stays done where a later piece
// fails. run returns how many records it has ended; inPieces returns their sum.
func inPieces[T any](ctx context.Context, s *Store, all []T, run func(t *tx, piece []T) (int, error)) (ended int, err error) {
	for piece := range slices.Chunk(all, pieceSize) {
		n, err := commit(ctx, s, engine.Unflushed, engine.LockSet{}, func(t *tx) (int, error) { return run(t, piece) })
		if ended += n; err != nil {
			return ended, err
		}
	}
	return ended, nil
}
