package groupdelete

import (
	"cmp"
	"context"
	"encoding/json"

	"portico/inventory"
	"portico/inventory/jobrow"
	"portico/operations/groupdelete/plan"
)

// mostReasons bounds the refusals whose texts are read.
const mostReasons = 50

// Member is the record of a resource that has to go.
type Member struct {
	plan.Member
	ID    string
	Stray bool
	Said  string // the text of the provider that refused it
}

// Members lists at most limit of the resources that a deletion still has to delete, as they
// were recorded: the replica that works on it may be some seconds ahead. The error is
// ErrNoDeletion if the job is of another kind.
func Members(ctx context.Context, store *inventory.Store, job jobrow.Job, limit int) ([]Member, error) {
	if job.Kind != inventory.GroupDeleteJob {
		return nil, ErrNoDeletion
	}
	if job.State.Ended() {
		return nil, nil
	}
	recorded := map[string]plan.Record{}
	page, err := store.DeletionMembers(ctx, job, "", limit)
	if err != nil {
		return nil, err
	}
	for _, r := range page {
		var m plan.Record
		if json.Unmarshal([]byte(r.Payload), &m) == nil { // some have an error alone
			recorded[r.Key] = m
		}
	}
	rows, err := store.Resources(ctx, inventory.ResourceQuery{Subscription: job.Subscription, Group: job.Subject, Limit: limit})
	if err != nil {
		return nil, err
	}
	var all []Member
	for _, row := range rows {
		m := Member{ID: row.ID, Member: plan.Member{Key: row.Key, Type: row.TypeName, Region: row.Region, Parent: row.Parent}}
		if r, known := recorded[row.Key]; known {
			m.restore(r)
		}
		if followed(row) {
			m.State, m.Blockers = plan.Accepted, nil
		}
		m.Busy = cmp.Or(row.WriteUnderWay(), m.Busy)
		all = append(all, m)
	}
	strays, err := store.Strays(ctx, job.Subscription, job.Subject)
	if err != nil {
		return nil, err
	}
	for _, stray := range strays {
		m := Member{ID: stray.ID, Stray: true, Member: plan.Member{Key: stray.MemberKey(), Type: stray.Type, Region: stray.Region}}
		if r, known := recorded[m.Key]; known {
			m.restore(r)
		}
		all = append(all, m)
	}
	all = all[:min(len(all), limit)]
	return all, readReasons(ctx, store, job, all)
}

func (m *Member) restore(r plan.Record) {
	restore(&m.Member, r)
	if r.State == plan.InFlight {
		m.State = r.State
	}
}

// readReasons reads the texts of providers' refusals.
func readReasons(ctx context.Context, store *inventory.Store, job jobrow.Job, all []Member) error {
	read := 0
	for i := range all {
		if all[i].State != plan.Parked || read == mostReasons {
			continue
		}
		read++
		var err error
		if all[i].Said, err = store.DeletionError(ctx, job, all[i].Key); err != nil {
			return err
		}
	}
	return nil
}
