package groupdelete

import (
	"context"
	"encoding/json"
	"fmt"

	"portico/inventory"
	"portico/inventory/jobrow"
	"portico/jobs/deletion"
	"portico/jobs/deletion/deletionplan"
)

// mostReasons bounds the refusals whose texts are read.
const mostReasons = 50

// Member is the record of a resource that has to go.
type Member struct {
	*deletionplan.Member
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
	recorded, err := records(ctx, store.Deletions, job, limit)
	if err != nil {
		return nil, err
	}
	rows, err := store.Resources(ctx, inventory.ResourceQuery{Subscription: job.Subscription, Group: job.Subject, Limit: limit})
	if err != nil {
		return nil, fmt.Errorf("read the resources of a group: %w", err)
	}
	var all []Member
	for _, row := range rows {
		row.Type = row.TypeName
		all = append(all, Member{Member: deletion.Member(row, recorded[row.Key])})
	}
	strays, err := store.Strays.List(ctx, job.Subscription, job.Subject)
	if err != nil {
		return nil, fmt.Errorf("read the strays of a group: %w", err)
	}
	for _, stray := range strays {
		row := rowOf(stray)
		all = append(all, Member{Member: deletion.Member(row, recorded[row.Key]), Stray: true})
	}
	all = all[:min(len(all), limit)]
	return all, readReasons(ctx, store.Deletions, job, all)
}

// records reads what is recorded of members, at most so many; 0: all.
func records(ctx context.Context, store *inventory.Deletions, job jobrow.Job, limit int) (map[string]deletionplan.Record, error) {
	recorded := map[string]deletionplan.Record{}
	for after := ""; ; {
		page, err := store.Members(ctx, job, after, deletion.AtOnce)
		if err != nil {
			return nil, fmt.Errorf("read the records of a deletion: %w", err)
		}
		for _, r := range page {
			var m deletionplan.Record
			if after = r.Key; json.Unmarshal([]byte(r.Payload), &m) == nil { // some have an error alone
				recorded[r.Key] = m
			}
		}
		if len(page) < deletion.AtOnce || limit > 0 && len(recorded) >= limit {
			return recorded, nil
		}
	}
}

// readReasons reads the texts of providers' refusals.
func readReasons(ctx context.Context, store *inventory.Deletions, job jobrow.Job, all []Member) error {
	read := 0
	for i := range all {
		if all[i].State != deletionplan.Parked || read == mostReasons {
			continue
		}
		read++
		var err error
		if all[i].Said, err = store.MemberError(ctx, job, all[i].Key); err != nil {
			return err
		}
	}
	return nil
}
