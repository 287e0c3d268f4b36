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

// Uncovered returns those of the regions where the index may lack resources of the
// type, so that the absence of a row does not prove the absence of a resource. There
// are none in a covered subscription, nor where a sweep was complete; in an unknown
// subscription all are uncovered.
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

// Cover records that the index knows, by a row or otherwise, every instance of a type
// that a region held when its list began. swept is that moment, by the store's clock.
func (s *Store) Cover(ctx context.Context, sub, typ, region string, swept time.Time) error {
	return s.write(ctx, engine.Flushed, recordLocks(sub), func(t *tx) error {
		return t.Later(putCoverage, arm.Fold(sub), arm.Fold(typ), region, engine.Micros(swept))
	})
}

// Now is the store's time, for comparison with its records.
func (s *Store) Now() time.Time { return s.engine.Now() }

func scanText(scan engine.Scanner) (text string, err error) {
	err = scan(&text)
	return text, err
}
