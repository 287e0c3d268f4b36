package api

import "net/http"

var unstickOperations = []Operation{
	{
		Method: http.MethodPost, Path: "/admin/unstick", Summary: "Asks again, gives up or forgets what waits, as far as that is safe.",
		Content: UnstickOrder{}, Answer: Unstuck{}, Status: http.StatusOK,
	},
}

// The steps of an UnstickOrder.
const (
	Ask    = "ask"    // again, now
	GiveUp = "giveUp" // as its own limit would
	Forget = "forget" // the operator says that it does not exist
)

// UnstickOrder names one thing that waits, by one of its first five members, and what is
// to be done.
type UnstickOrder struct {
	// ID is that of a resource or a resource group.
	ID string `json:"id,omitempty"`
	// Job is the id of a job.
	Job string `json:"job,omitempty"`
	// Operation is the URL that a client polls.
	Operation string `json:"operation,omitempty"`
	// Fence is the ID that fences stand on.
	Fence string `json:"fence,omitempty"`
	// Sink is the name of a receiver of events.
	Sink string `json:"sink,omitempty"`
	// Event is the id of an event that Sink has not taken; without it all that wait are meant.
	Event string `json:"event,omitempty"`
	// Region has ID name the stray there, and not the row.
	Region string `json:"region,omitempty"`
	Step   string `json:"step"`
	// Reason goes to the audit log. To forget, and to give up an event, need one.
	Reason string `json:"reason,omitempty"`
}

// Unstuck says what was done.
type Unstuck struct {
	Step string `json:"step"`
	// Target is the ID, or the job, that it was done to.
	Target  string   `json:"target"`
	Outcome string   `json:"outcome"`
	Jobs    []string `json:"jobs"` // that go on from here
}
