package inventory

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"portico/inventory/engine"
)

// What ends by time after an outage of a provider may be much. It ends in
// transactions that are small, each for itself.
func TestMuchEndsInPieces(t *testing.T) {
	o := testOptions(t)
	now := time.Now()
	o.Now = func() time.Time { return now }
	s := openTest(t, o)
	makeGroup(t, s, "rg")
	const many = 2*engine.PieceSize + 1
	for i := range many {
		if _, err := s.Begin(t.Context(), vmWrite("rg", fmt.Sprint("vm", i))); err != nil {
			t.Fatal(err)
		}
	}
	now = now.Add(time.Hour)
	before := s.Stats().Commits
	if n, err := s.Expire(t.Context(), 10*many); err != nil || n != many {
		t.Fatal(n, err)
	}
	if commits := s.Stats().Commits - before; commits != 3 {
		t.Errorf("%d transactions", commits)
	}
	if open, err := s.CountIntents(t.Context()); err != nil || open != 0 {
		t.Errorf("%d open, %v", open, err)
	}
}

func TestAPieceThatFailsTakesNothingBack(t *testing.T) {
	s := openTest(t, testOptions(t))
	fault := errors.New("fault")
	pieces := 0
	ended, err := engine.InPieces(t.Context(), s.engine, make([]int, 3*engine.PieceSize), func(_ *tx, piece []int) (int, error) {
		if pieces++; pieces == 2 {
			return 0, fault
		}
		return len(piece), nil
	})
	if ended != engine.PieceSize || !errors.Is(err, fault) || pieces != 2 {
		t.Errorf("%d ended in %d pieces, %v", ended, pieces, err)
	}
	if ended, err := engine.InPieces(t.Context(), s.engine, []int{}, func(*tx, []int) (int, error) { return 0, fault }); ended != 0 || err != nil {
		t.Errorf("of nothing: %d, %v", ended, err)
	}
}
