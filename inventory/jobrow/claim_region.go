package jobrow

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"portico/inventory/engine"
)

const (
	nextJobRegion = `SELECT region, due FROM jobs WHERE shard = ? AND kind = ? AND region > ? ORDER BY region, due LIMIT 1`
	dueInRegion   = `SELECT ` + Columns + ` FROM jobs WHERE shard = ? AND kind = ? AND region = ? AND due <= ? ORDER BY due LIMIT ?`
)

// claimPage bounds the due jobs that one query reads.
const claimPage = 64

// ClaimByRegion claims due jobs of one kind, like Claim, with a limit for each
// region. It calls room for each due job; room reports whether one more job of the region
// may be claimed, and counts those that it admits. more reports whether there may be due
// jobs that were not claimed.
//
// Jobs of a full region hide no others, however many they are: if some of the oldest due
// jobs are not admitted, the claim reads region by region, with at most two statements for
// each.
func (r *Jobs) ClaimByRegion(
	ctx context.Context, owner string, lease time.Duration, kind string, room func(region string) bool,
) (jobs []Job, more bool, err error) {
	a := &regionClaim{
		from: r.engine.Read(ctx), kind: kind, now: engine.Micros(r.engine.Now()), room: room,
		seen: map[[16]byte]bool{}, full: map[string]bool{},
	}
	if err := a.admitOldest(); err != nil {
		return nil, false, err
	}
	if len(a.admitted) > 0 {
		jobs, err = r.claim(ctx, a.admitted, owner, lease)
	}
	return jobs, a.more, err
}

// regionClaim collects the due jobs of a kind that room admits.
type regionClaim struct {
	from engine.Source
	kind string
	now  int64
	room func(region string) bool

	admitted []Job
	seen     map[[16]byte]bool // admitted already, by incarnation
	full     map[string]bool   // regions without room
	more     bool
}

func (a *regionClaim) admit(due []Job) {
	for _, j := range due {
		switch {
		case a.seen[j.Incarnation]:
		case a.full[j.Region] || !a.room(j.Region):
			a.full[j.Region], a.more = true, true
		default:
			a.seen[j.Incarnation] = true
			a.admitted = append(a.admitted, j)
		}
	}
}

// admitOldest admits the jobs that have been due for longest. If some of them are not
// admitted and may hide others, it continues region by region.
func (a *regionClaim) admitOldest() error {
	oldest, err := engine.Collect(a.from, Scan, dueJobs, openShard, a.kind, a.now, claimPage)
	if err != nil {
		return fmt.Errorf("read the oldest due jobs of %s: %w", a.kind, err)
	}
	a.admit(oldest)
	unread := len(oldest) == claimPage
	a.more = a.more || unread
	if !unread || len(a.full) == 0 {
		return nil
	}
	return a.admitByRegion()
}

// admitByRegion admits the due jobs region by region, beginning with the jobs that have no
// region.
func (a *regionClaim) admitByRegion() error {
	region, due := "", int64(0)
	for {
		if due <= a.now && !a.full[region] {
			page, err := engine.Collect(a.from, Scan, dueInRegion, openShard, a.kind, region, a.now, claimPage)
			if err != nil {
				return fmt.Errorf("read the due jobs of %s by region: %w", a.kind, err)
			}
			a.admit(page)
		}
		err := a.from.One(nextJobRegion, openShard, a.kind, region)(&region, &due)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
