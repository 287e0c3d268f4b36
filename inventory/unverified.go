package inventory

import (
	"context"
	"errors"
	"slices"
	"strings"

	"portico/arm"
	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/inventory/jobrow"
)

// Unverified is a resource whose state the index is not certain about, with the reasons.
type Unverified struct {
	Subscription, Key string
	Row               *Resource    // nil if there is none
	Writes            []OpenWrite  // at most 20, the last to end first
	Jobs              []jobrow.Job // verifying the row, or following its accepted writes
}

// UnverifiedQuery selects a page of unverified resources.
type UnverifiedQuery struct {
	Subscription string // empty for all
	After        string // Next of the page before
	Limit        int    // above 0
}

// UnverifiedPage is a page of unverified resources. A page with fewer than the limit, or
// none, need not be the last one.
type UnverifiedPage struct {
	Value []Unverified
	Next  string // empty if this is the last page
}

// ErrInvalidCursor refuses an UnverifiedQuery.After that is not the Next of a page.
var ErrInvalidCursor = errors.New("inventory: there is no such position in the list")

const (
	// openWritesShown bounds the writes in an Unverified, and jobsPassed the jobs that are
	// examined for one page.
	openWritesShown = 20
	jobsPassed      = 1000

	openKeys   = `SELECT DISTINCT subscription, key FROM intents WHERE (subscription, key) > (?, ?) ORDER BY subscription, key LIMIT ?`
	openKeysOf = `SELECT DISTINCT subscription, key FROM intents WHERE subscription = ? AND key > ? ORDER BY subscription, key LIMIT ?`

	passedColumns = `subscription, id, kind, subject, state`
	passJobs      = `SELECT ` + passedColumns + ` FROM jobs WHERE (subscription, id) > (?, ?) ORDER BY subscription, id LIMIT ?`
	passJobsOf    = `SELECT ` + passedColumns + ` FROM jobs WHERE subscription = ? AND id > ? ORDER BY subscription, id LIMIT ?`
	jobsOfRow     = `SELECT ` + jobrow.Columns + ` FROM jobs WHERE subscription = ? AND id IN (?, ?, ?, ?)`
)

// Unverified lists the resources that the index is not certain about: first the ones with
// open writes, by key, then the ones whose rows are flagged or followed, by job. It
// examines a bounded number of rows. It may or may not list resources that change between
// pages. It returns ErrInvalidCursor for a wrong After.
func (s *Store) Unverified(ctx context.Context, q UnverifiedQuery) (page UnverifiedPage, err error) {
	q.Subscription = arm.Fold(q.Subscription)
	var after jobrow.Job
	if q.After != "" && !strings.HasPrefix(q.After, "/") {
		if after.Subscription, after.ID, err = jobrow.ParseName(q.After); err != nil {
			return UnverifiedPage{}, ErrInvalidCursor
		}
	} else {
		if page, err = q.withOpenWrites(ctx, s); err != nil || page.Next != "" {
			return page, err
		}
	}
	err = q.addByJob(ctx, s, after, &page)
	return page, err
}

// withOpenWrites lists the resources with open writes, by key.
func (q UnverifiedQuery) withOpenWrites(ctx context.Context, s *Store) (page UnverifiedPage, err error) {
	from := s.engine.Read(ctx)
	type pair struct{ subscription, name string }
	after := pair{name: arm.Fold(q.After)}
	if after.name != "" {
		if after.subscription, err = subscriptionOf(after.name); err != nil {
			return page, err
		}
	}
	statement, args := openKeys, []any{after.subscription, after.name, q.Limit}
	if q.Subscription != "" {
		statement, args = openKeysOf, []any{q.Subscription, after.name, q.Limit}
	}
	open, err := engine.Collect(from, func(scan engine.Scanner) (at pair, err error) {
		err = scan(&at.subscription, &at.name)
		return at, err
	}, statement, args...)
	if err != nil {
		return page, err
	}
	for _, at := range open {
		u, err := s.UnverifiedResource(ctx, at.subscription, at.name)
		if err != nil {
			return page, err
		}
		if len(u.Writes) > 0 {
			page.Value = append(page.Value, u)
		}
	}
	if len(open) == q.Limit {
		page.Next = open[len(open)-1].name
	}
	return page, nil
}

// subscriptionOf returns the subscription in the folded ID of a resource.
func subscriptionOf(key string) (string, error) {
	rest, found := strings.CutPrefix(key, subscriptionScope(""))
	sub, _, complete := strings.Cut(rest, "/")
	if !found || !complete {
		return "", ErrInvalidCursor
	}
	return sub, nil
}

// addByJob adds the rows that are flagged or followed and have no open write, by job. It
// adds a row with several jobs for its first one.
func (q UnverifiedQuery) addByJob(ctx context.Context, s *Store, after jobrow.Job, page *UnverifiedPage) error {
	statement, args := passJobs, []any{after.Subscription, after.ID[:], jobsPassed}
	if q.Subscription != "" {
		statement, args = passJobsOf, []any{q.Subscription, after.ID[:], jobsPassed}
	}
	jobs, err := engine.Collect(s.engine.Read(ctx), func(scan engine.Scanner) (j jobrow.Job, err error) {
		var id []byte
		err = scan(&j.Subscription, &id, &j.Kind, &j.Subject, &j.State)
		copy(j.ID[:], id)
		return j, err
	}, statement, args...)
	if err != nil {
		return err
	}
	for _, j := range jobs {
		if len(page.Value) == q.Limit {
			return nil
		}
		page.Next = j.Name()
		if j.State.Ended() || j.Kind != VerifyJob && j.Kind != FollowJob {
			continue
		}
		u, err := s.UnverifiedResource(ctx, j.Subscription, j.Subject)
		if err != nil {
			return err
		}
		if len(u.Writes) == 0 && len(u.Jobs) > 0 && u.Jobs[0].ID == j.ID {
			page.Value = append(page.Value, u)
		}
	}
	if len(jobs) < jobsPassed {
		page.Next = ""
	}
	return nil
}

// UnverifiedResource returns the index's records of an ID, and the reasons why it is not
// certain about them; there may be none.
func (s *Store) UnverifiedResource(ctx context.Context, sub, id string) (u Unverified, err error) {
	sub, key := arm.Fold(sub), arm.Fold(id)
	u.Subscription, u.Key = sub, key
	from := s.engine.Read(ctx)
	if u.Writes, err = engine.Collect(from, s.scanOpenWrite, openWrites, sub, key, openWritesShown); err != nil {
		return u, err
	}
	row, err := loadResource(from, selectResource, sub, key)
	switch {
	case errors.Is(err, ErrNotFound):
		return u, nil
	case err != nil:
		return u, err
	}
	u.Row = &row
	if jobsFor(row.ruleRow()) == (rowJobs{}) {
		return u, nil
	}
	ids := [][16]byte{verifyID(key), followID(index.Put, key), followID(index.Delete, key), followID(index.Patch, key)}
	slices.SortFunc(ids, func(a, b [16]byte) int { return slices.Compare(a[:], b[:]) })
	u.Jobs, err = engine.Collect(from, jobrow.Scan, jobsOfRow+` ORDER BY id`, sub, ids[0][:], ids[1][:], ids[2][:], ids[3][:])
	u.Jobs = slices.DeleteFunc(u.Jobs, func(j jobrow.Job) bool { return j.State.Ended() })
	return u, err
}
