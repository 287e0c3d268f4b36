package inventory

import (
	"context"
	"errors"
	"slices"
	"time"

	"portico/arm"
	"portico/inventory/engine"
)

const (
	putCoverage = `INSERT INTO coverage (subscription, type, region, swept) VALUES (?, ?, ?, ?)
		ON CONFLICT (subscription, type, region) DO UPDATE SET swept = excluded.swept`
	selectCoverage = `SELECT region FROM coverage WHERE subscription = ? AND type = ? ORDER BY region`
)

// Uncovered returns those of the regions whose instances of a type may be
// unknown to the index: absence of a row there is no absence of a resource. In
// a covered subscription, and wherever a complete sweep has been, there are
// none; in a subscription that the store does not know, all are.
func (s *Store) Uncovered(ctx context.Context, sub, typ string, regions []string) ([]string, error) {
	from := s.read(ctx)
	switch known, err := loadSubscription(from, selectSubscription, sub); {
	case errors.Is(err, ErrNotFound):
		return slices.Clone(regions), nil
	case err != nil:
		return nil, err
	case known.Covered:
		return nil, nil
	}
	covered, err := engine.Collect(from, scanText, selectCoverage, arm.Fold(sub), arm.Fold(typ))
	if err != nil {
		return nil, err
	}
	var uncovered []string
	for _, region := range regions {
		if !slices.Contains(covered, region) {
			uncovered = append(uncovered, region)
		}
	}
	return uncovered, nil
}

// Cover records that all instances of a type which a region held when its list
// was begun are known: each has a row, or something else remembers it. swept is
// that begin, by the store's time.
func (s *Store) Cover(ctx context.Context, sub, typ, region string, swept time.Time) error {
	return s.write(ctx, engine.Flushed, recordLocks(sub), func(t *tx) error {
		return t.Later(putCoverage, arm.Fold(sub), arm.Fold(typ), region, engine.Micros(swept))
	})
}

// Time is the store's, which what is compared with its records has to be
// measured by.
func (s *Store) Time() time.Time { return s.engine.Now() }

func scanText(scan engine.Scanner) (text string, err error) {
	err = scan(&text)
	return text, err
}
