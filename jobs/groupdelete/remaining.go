package groupdelete

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"portico/inventory"
	"portico/inventory/jobrow"
	"portico/jobs"
	"portico/jobs/deletion"
	"portico/jobs/deletion/deletionplan"
)

// mostReasons bounds the refusals whose texts are read.
const mostReasons = 50

// remaining implements Remaining of [jobs.Description].
func (d *Deleter) remaining(ctx context.Context, job jobrow.Job, limit int) (all []jobs.Remaining, err error) {
	if job.State.Ended() {
		return nil, nil
	}
	store := d.Prober.Store
	recorded, err := records(ctx, store.Deletions, job, limit)
	if err != nil {
		return nil, err
	}
	rows, err := store.Resources(ctx, inventory.ResourceQuery{Subscription: job.Subscription, Group: job.Subject, Limit: limit})
	if err != nil {
		return nil, fmt.Errorf("read the resources of a group: %w", err)
	}
	for _, row := range rows {
		row.Type = row.TypeName
		all = append(all, remainingOf(deletion.ResourceOf(row, recorded[row.Key])))
	}
	strays, err := store.Strays.List(ctx, job.Subscription, job.Subject)
	if err != nil {
		return nil, fmt.Errorf("read the strays of a group: %w", err)
	}
	for _, stray := range strays {
		row := rowOf(stray)
		m := remainingOf(deletion.ResourceOf(row, recorded[row.Key]))
		m.Stray = true
		all = append(all, m)
	}
	all = all[:min(len(all), limit)]
	return all, readReasons(ctx, store.Deletions, job, all)
}

var remainingStates = [...]jobs.RemainingState{
	deletionplan.Waiting: jobs.RemainingWaiting, deletionplan.InFlight: jobs.RemainingInFlight,
	deletionplan.Accepted: jobs.RemainingAccepted, deletionplan.Parked: jobs.RemainingRefused,
}

func remainingOf(m *deletionplan.Resource) jobs.Remaining {
	r := jobs.Remaining{
		ID: m.ID, Type: m.Type, Region: m.Region, Key: m.Key, Parent: m.Parent, WaitsFor: m.Blockers, State: remainingStates[m.State],
		Tries: m.Tries, Failing: m.Failing, Why: m.Why, Due: m.Due,
	}
	if m.State == deletionplan.Parked {
		r.OwnWrite = m.Busy
	}
	return r
}

// records reads the records of at most limit resources, or of all if limit is 0.
func records(ctx context.Context, store *inventory.Deletions, job jobrow.Job, limit int) (map[string]deletionplan.Record, error) {
	recorded := map[string]deletionplan.Record{}
	for after := ""; ; {
		page, err := store.Members(ctx, job, after, deletion.AtOnce)
		if err != nil {
			return nil, fmt.Errorf("read the records of a deletion: %w", err)
		}
		for _, r := range page {
			var m deletionplan.Record
			if after = r.Key; json.Unmarshal([]byte(r.Payload), &m) == nil { // some have only an error
				recorded[r.Key] = m
			}
		}
		if len(page) < deletion.AtOnce || limit > 0 && len(recorded) >= limit {
			return recorded, nil
		}
	}
}

// readReasons reads the texts of providers' refusals.
func readReasons(ctx context.Context, store *inventory.Deletions, job jobrow.Job, all []jobs.Remaining) error {
	read := 0
	for i := range all {
		if all[i].State != jobs.RemainingRefused || read == mostReasons {
			continue
		}
		read++
		text, err := store.MemberError(ctx, job, all[i].Key)
		if err != nil {
			return err
		}
		all[i].Why = cmp.Or(text, all[i].Why)
	}
	return nil
}
