package api

import (
	"encoding/json"
	"net/http"
	"time"
)

var jobOperations = []Operation{
	{
		Method: http.MethodGet, Path: "/admin/jobs", Summary: "The durable jobs of all subscriptions; those that ended are kept for a while.",
		Query:  append([]Parameter{{"kind", "only those of this kind; GET /admin/jobKinds lists them"}}, paging...),
		Answer: Page[Job]{}, Status: http.StatusOK,
	},
	{Method: http.MethodGet, Path: "/admin/jobs/{id}", Summary: "One job.", Answer: Job{}, Status: http.StatusOK},
	{Method: http.MethodPost, Path: "/admin/jobs/{id}/cancel", Summary: "Cancels a job whose kind is cancellable, such as the deletion of a group.", Answer: Job{}, Status: http.StatusAccepted},
	{Method: http.MethodGet, Path: "/admin/jobKinds", Summary: "All kinds of jobs, by their names.", Answer: Page[JobKind]{}, Status: http.StatusOK},
}

// JobKind is a kind of durable work.
type JobKind struct {
	Kind string `json:"kind"`
	// Cancellable: its jobs can be cancelled. The others keep the index true, and end by
	// themselves.
	Cancellable bool `json:"cancellable"`
	// Parts: what is left of its jobs can be listed.
	Parts bool `json:"parts,omitempty"`
	// Limit is the setting of the time within which a job should end, if it has one.
	Limit string `json:"limit,omitempty"`
}

// Job is a piece of durable work.
type Job struct {
	ID           string `json:"id"`
	Kind         string `json:"kind"`
	Subscription string `json:"subscription,omitempty"`
	// Subject is what it works on: the ID of a resource, the name of a group, a subscription.
	Subject string `json:"subject"`
	// On is the ID of what it works on, where the subject is none.
	On    string `json:"on,omitempty"`
	State string `json:"state"` // Waiting, Cancelling, Done, Failed or Cancelled
	// Due is when the next attempt begins; while one is made, the end of its lease. A job
	// that has ended has none.
	Due   *time.Time `json:"due,omitempty"`
	Owner string     `json:"owner,omitempty"` // the replica that works on it
	// Attempts are those since work on it last went well.
	Attempts int64     `json:"attempts"`
	Created  time.Time `json:"created"`
	Changed  time.Time `json:"changed"`
	// Until is when it should have ended, and Limit the setting that says so; some kinds
	// have neither.
	Until *time.Time `json:"until,omitempty"`
	Limit string     `json:"limit,omitempty"`
	// Steps is how far it has come, where that is known.
	Steps *Steps `json:"steps,omitempty"`
	// Progress is of a form of its kind's own.
	Progress json.RawMessage `json:"progress,omitempty"`
	// Parts: what is left of it can be listed, GET /admin/jobs/{id}/members.
	Parts bool `json:"parts,omitempty"`
	// Cancellable: it goes on, and can be cancelled.
	Cancellable bool `json:"cancellable,omitempty"`
	// Command is the one that tells more of it or has it go on.
	Command string `json:"command"`
}

// Steps are those of a job.
type Steps struct {
	Done int `json:"done"`
	Of   int `json:"of"`
}

var sweepOperations = []Operation{
	{
		Method: http.MethodPost, Path: "/admin/sweeps", Summary: "Orders a comparison of the index with the providers, or joins one under way that does the same. Location names its job.",
		Content: Sweep{}, Answer: Job{}, Status: http.StatusAccepted,
	},
}

// Sweep is an order of a sweep; an empty one is for everything.
type Sweep struct {
	DryRun       bool   `json:"dryRun,omitempty"`       // only report
	Subscription string `json:"subscription,omitempty"` // only this one
}
