package inventory

import (
	"time"

	"portico/events"
	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/inventory/jobrow"
)

// The kinds of the jobs of rows. A flagged row has a job that verifies it, a followed row
// has a job for each kind of write, and no other row has one: the transaction that sets or
// clears the flag or the follow creates or removes the job.
const (
	VerifyJob = "verify"
	FollowJob = "follow"
)

// Poll is the polling URL of an accepted write, on the region's endpoint of the type.
type Poll struct {
	Path, Query string        // as the provider sent them; the path is absolute
	RetryAfter  time.Duration // before the first poll; 0 if the provider sent none
	// Status: the URL answers with 200 and the operation's status; otherwise it answers as
	// the write itself would have been answered (async reference, Azure-AsyncOperation
	// Resource format; 202 Accepted and Location Headers).
	Status bool
	// TenantID and ObjectID identify the caller that started the operation: for anyone else
	// it does not exist (async reference, Operation result rules).
	TenantID, ObjectID string
}

// Follow is the payload of a job that follows an accepted write. Without a path there is no
// polling URL, and the job sends GETs of the resource.
type Follow struct {
	Kind     index.WriteKind `json:"kind"`
	Path     string          `json:"path,omitempty"`
	Query    string          `json:"query,omitempty"`
	Status   bool            `json:"status,omitempty"`   // as in Poll
	TenantID string          `json:"tenantId,omitempty"` // as in Poll
	ObjectID string          `json:"objectId,omitempty"` // as in Poll
	Progress FollowProgress  `json:"progress"`
}

// FollowProgress is the progress of a follow, for operators.
type FollowProgress struct {
	Status string `json:"status,omitempty"` // of the operation, by the latest poll
	// Missing counts the consecutive polls that found no such operation. The first one was
	// at MissingSince.
	Missing      int       `json:"missing,omitempty"`
	MissingSince time.Time `json:"missingSince,omitzero"`
	// RefusedSince is the time since which the provider refuses the row's api-version.
	RefusedSince time.Time `json:"refusedSince,omitzero"`
}

// String returns the payload as it is stored.
func (f Follow) String() string {
	return jobrow.PayloadOf(f)
}

// ReadFollow reads the payload of a job that follows.
func ReadFollow(j jobrow.Job) (f Follow, err error) {
	err = j.Read(&f)
	return f, err
}

// Verify is the payload of a job that verifies a row.
type Verify struct {
	// Correlation and Client are the ids of the request that flagged the row; "" if no
	// request did.
	Correlation string         `json:"correlation,omitempty"`
	Client      string         `json:"clientId,omitempty"`
	Progress    VerifyProgress `json:"progress"`
}

// VerifyProgress is the progress of a verification, for operators.
type VerifyProgress struct {
	Outcome string `json:"outcome,omitempty"` // of the latest GET, a sentence
	// RefusedSince is the time since which the provider refuses the row's api-version.
	RefusedSince time.Time `json:"refusedSince,omitzero"`
}

func verifyID(key string) [16]byte { return jobrow.ID(VerifyJob, key) }

func followID(kind index.WriteKind, key string) [16]byte {
	return jobrow.ID(FollowJob, kind.String()+" "+key)
}

// rowJobs has the jobs of a row.
type rowJobs struct{ verify, followPut, followDelete, followPatch bool }

func jobsFor(row *index.Row) rowJobs {
	if row == nil {
		return rowJobs{}
	}
	return rowJobs{row.Verify, row.FollowPut, row.FollowDelete, row.FollowPatch}
}

// accepted is an accepted write whose follow starts.
type accepted struct {
	kind        index.WriteKind
	poll        *Poll
	incarnation [16]byte // of the job
}

// storeJobs creates the jobs that the row needs and removes the ones that it no longer
// needs. For a row that is neither flagged nor followed it does nothing.
func (h *resourceTx) storeJobs(t *tx, before, now rowJobs, intentEnded bool) error {
	if before == now && h.accepted == nil && !(intentEnded && now.verify) {
		return nil
	}
	if err := h.storeVerify(t, before.verify, now.verify, intentEnded); err != nil {
		return err
	}
	if err := h.storeFollow(t, index.Put, before.followPut, now.followPut); err != nil {
		return err
	}
	if err := h.storeFollow(t, index.Patch, before.followPatch, now.followPatch); err != nil {
		return err
	}
	return h.storeFollow(t, index.Delete, before.followDelete, now.followDelete)
}

func (h *resourceTx) storeVerify(t *tx, before, now, intentEnded bool) error {
	switch {
	case now && !before:
		return putVerifyJob(t, h.subscription, h.key, h.region())
	case before && !now:
		return h.dropJob(t, verifyID(h.key))
	case now && intentEnded:
		// The intent that ended may have prevented an answer from settling.
		return jobrow.RunSooner(t.Base(), h.subscription, verifyID(h.key), t.Now.Add(t.store.options.PollFloor))
	}
	return nil
}

// region returns the region of the resource once its row is stored.
func (h *resourceTx) region() string {
	switch {
	case h.row != nil:
		return h.row.Region
	case h.createdRow != nil:
		return h.createdRow.Region
	}
	return ""
}

// putVerifyJob creates the job that verifies a flagged row.
func putVerifyJob(t *tx, sub, key, region string) error {
	payload := "{}"
	if cause := events.CauseOf(t.Context); cause.Correlation != "" {
		payload = jobrow.PayloadOf(Verify{Correlation: cause.Correlation, Client: cause.ClientRequest})
	}
	job := jobrow.Job{
		Subscription: sub, ID: verifyID(key), Kind: VerifyJob, Subject: key, Region: region,
		Incarnation: engine.NewID(), Due: t.Now.Add(t.store.options.PollFloor), Payload: payload,
	}
	return job.Put(t.Base())
}

func (h *resourceTx) storeFollow(t *tx, kind index.WriteKind, before, now bool) error {
	fresh := h.accepted
	if fresh != nil && fresh.kind != kind {
		fresh = nil
	}
	switch {
	case now && (fresh != nil || !before):
		return h.putFollowJob(t, kind, fresh)
	case before && !now:
		return h.dropJob(t, followID(kind, h.key))
	}
	return nil
}

// putFollowJob creates the job that follows an accepted write, in place of an earlier one.
func (h *resourceTx) putFollowJob(t *tx, kind index.WriteKind, fresh *accepted) error {
	follow, pause := Follow{Kind: kind}, t.store.options.PollFloor
	incarnation := engine.NewID()
	if fresh != nil {
		incarnation = fresh.incarnation
		if fresh.poll != nil {
			follow.Path, follow.Query, follow.Status = fresh.poll.Path, fresh.poll.Query, fresh.poll.Status
			follow.TenantID, follow.ObjectID = fresh.poll.TenantID, fresh.poll.ObjectID
			pause = max(pause, fresh.poll.RetryAfter)
		}
	}
	job := jobrow.Job{
		Subscription: h.subscription, ID: followID(kind, h.key), Kind: FollowJob, Subject: h.key, Region: h.region(),
		Incarnation: incarnation, Due: t.Now.Add(pause), Payload: follow.String(),
	}
	return job.Put(t.Base())
}

func (h *resourceTx) dropJob(t *tx, id [16]byte) error {
	return jobrow.Delete(t.Base(), h.subscription, id)
}

// flagBelow flags the rows below a key, at any depth, for verification. They take over the
// unreported writes of the row above.
func flagBelow(t *tx, sub, key string, above *Resource) error {
	from, to := engine.KeysBelow(key)
	if t.Proves() {
		return t.LookUpLater(engine.Proof(noneBelow, sub, from, to))
	}
	fresh := engine.NewID()
	type child struct{ key, region string }
	children, err := engine.Collect(t.Returning(), func(scan engine.Scanner) (c child, err error) {
		err = scan(&c.key, &c.region)
		return c, err
	}, flagChildren, fresh[:], above.unreported.stored(), sub, from, to)
	if err != nil {
		return err
	}
	if len(children) > 0 {
		t.locked.forget()
	}
	for _, c := range children {
		t.dropLocation(c.key)
		if err := putVerifyJob(t, sub, c.key, c.region); err != nil {
			return err
		}
	}
	return nil
}
