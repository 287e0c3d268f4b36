package api

import (
	"encoding/json"
	"net/http"
	"time"
)

var jobOperations = []Operation{
	{
		Method: http.MethodGet, Path: "/admin/jobs",
		Summary: "The durable jobs of all subscriptions: the open ones, oldest first, then recently ended ones, newest first.",
		Query: append([]Parameter{
			{"kind", "only this kind; GET /admin/jobKinds lists all kinds"},
			{"state", "only jobs in this state: open, running (a replica works on it), waiting, cancelling, ended, done, failed or cancelled"},
		}, paging...),
		Answer: Page[Job]{}, Status: http.StatusOK,
	},
	{Method: http.MethodGet, Path: "/admin/jobs/{id}", Summary: "One job, with its latest steps.", Answer: Job{}, Status: http.StatusOK},
	{
		Method: http.MethodPost, Path: "/admin/jobs/{id}/cancel",
		Summary: "Cancels a job of a cancellable kind, such as a group deletion.",
		Answer:  Job{}, Status: http.StatusAccepted,
	},
	{Method: http.MethodGet, Path: "/admin/jobKinds", Summary: "The names of all kinds of jobs.", Answer: Page[JobKind]{}, Status: http.StatusOK},
}

// JobKind is a kind of durable work.
type JobKind struct {
	Kind string `json:"kind"`
	// Cancellable: its jobs can be cancelled. The others keep the index true, and end by
	// themselves.
	Cancellable bool `json:"cancellable"`
	// Parts: the parts of its jobs that are left to do can be listed.
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
	// On is the ID that it works on, if the subject is no ID.
	On    string `json:"on,omitempty"`
	State string `json:"state"` // Waiting, Cancelling, Done, Failed or Cancelled
	// Due is when the next attempt begins; during an attempt, the end of its lease. An
	// ended job has none.
	Due   *time.Time `json:"due,omitempty"`
	Owner string     `json:"owner,omitempty"` // the replica that works on it
	// Attempts is the number of attempts since the last success.
	Attempts int64     `json:"attempts"`
	Created  time.Time `json:"created"`
	Changed  time.Time `json:"changed"`
	// Until is when it should have ended, and Limit the setting of that time; some kinds
	// have neither.
	Until *time.Time `json:"until,omitempty"`
	Limit string     `json:"limit,omitempty"`
	// Steps is its progress, if known.
	Steps *Steps `json:"steps,omitempty"`
	// WaitingFor names the regions that it waits for because they do not answer. Outcome
	// describes its progress in sentences.
	WaitingFor []string `json:"waitingFor,omitempty"`
	Outcome    string   `json:"outcome,omitempty"`
	// Progress is in the form of its kind.
	Progress json.RawMessage `json:"progress,omitempty"`
	// Parts: GET /admin/jobs/{id}/members lists the parts that are left to do.
	Parts bool `json:"parts,omitempty"`
	// Deployment: GET /admin/jobs/{id}/deployment shows its steps.
	Deployment bool `json:"deployment,omitempty"`
	// Cancellable: it has not ended, and can be cancelled.
	Cancellable bool `json:"cancellable,omitempty"`
	// Command is the command that shows more of it or moves it on.
	Command string `json:"command"`
	// History are its last steps, at most 50, the newest first; repeated ones are one. Lists have none.
	History []JobStep `json:"history,omitempty"`
}

// JobStep is a step of a job: an attempt that ended, a lease that ran out, an order to cancel.
type JobStep struct {
	At      time.Time `json:"at"`
	Times   int       `json:"times,omitempty"`   // how often it came in a row, at is the latest; absent: once
	Since   time.Time `json:"since,omitzero"`    // when the first of several came
	Replica string    `json:"replica,omitempty"` // whose step it was
	// Outcome is again (it goes on), unfinished, failed, panicked, released (the replica
	// ended), expired (the replica was lost), or the end: done, failed or cancelled, which
	// is also the order to cancel.
	Outcome string `json:"outcome"`
	Did     string `json:"did,omitempty"` // its result
}

// Steps are the steps of a job.
type Steps struct {
	Done int `json:"done"`
	Of   int `json:"of"`
}

var sweepOperations = []Operation{
	{
		Method: http.MethodPost, Path: "/admin/sweeps",
		Summary: "Starts a comparison of the index with the providers, or joins an equal one in progress. Location names its job.",
		Content: Sweep{}, Answer: Job{}, Status: http.StatusAccepted,
	},
}

// Sweep orders a sweep; an empty one is for everything.
type Sweep struct {
	DryRun       bool   `json:"dryRun,omitempty"`       // only report
	Subscription string `json:"subscription,omitempty"` // only this one
}
