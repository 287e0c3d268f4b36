package api

import (
	"encoding/json"
	"net/http"
	"time"
)

var jobOperations = []Operation{
	{
		Method: http.MethodGet, Path: "/admin/jobs", Summary: "The durable jobs of all subscriptions; those that ended are kept for a while.",
		Query:  append([]Parameter{{"kind", "only those of this kind, such as verify, follow, sweep, group-delete, move, batch or notice"}}, paging...),
		Answer: Page[Job]{}, Status: http.StatusOK,
	},
	{Method: http.MethodGet, Path: "/admin/jobs/{id}", Summary: "One job.", Answer: Job{}, Status: http.StatusOK},
	{Method: http.MethodPost, Path: "/admin/jobs/{id}/cancel", Summary: "Cancels a sweep, a deletion, a move or a batch.", Answer: Job{}, Status: http.StatusAccepted},
}

// JobKinds are all kinds of jobs, as ?kind= takes them, in the order of their names.
func JobKinds() []string {
	return []string{"batch", "erase", "fence", "follow", "group-delete", "move", "notice", "registration", "sink", "sweep", "validate-move", "verify"}
}

// Job is a piece of durable work.
type Job struct {
	ID           string `json:"id"`
	Kind         string `json:"kind"`
	Subscription string `json:"subscription,omitempty"`
	// Subject is what it works on: the ID of a resource, the name of a group, a subscription.
	Subject string `json:"subject"`
	State   string `json:"state"` // Waiting, Cancelling, Done, Failed or Cancelled
	// Due is when the next attempt begins; while one is made, the end of its lease. A job
	// that has ended has none.
	Due   *time.Time `json:"due,omitempty"`
	Owner string     `json:"owner,omitempty"` // the replica that works on it
	// Attempts are those since work on it last went well.
	Attempts int64     `json:"attempts"`
	Created  time.Time `json:"created"`
	Changed  time.Time `json:"changed"`
	// Progress is of a form of its kind's own.
	Progress json.RawMessage `json:"progress,omitempty"`
}
