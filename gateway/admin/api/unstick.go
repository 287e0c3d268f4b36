package api

import "net/http"

var unstickOperations = []Operation{
	{
		Method: http.MethodPost, Path: "/admin/unstick", Summary: "Retries, gives up or forgets pending work, if that is safe.",
		Content: UnstickOrder{}, Answer: Unstuck{}, Status: http.StatusOK,
	},
}

// The steps of an UnstickOrder.
const (
	Ask    = "ask"    // again, now
	GiveUp = "giveUp" // as its own limit would
	Forget = "forget" // the operator says that it does not exist
)

// UnstickOrder names one waiting thing, by one of id, job, operation, fence and sink, and the step
// to take.
type UnstickOrder struct {
	// ID is the ID of a resource or a resource group.
	ID string `json:"id,omitempty"`
	// Job is the id of a job.
	Job string `json:"job,omitempty"`
	// Operation is the URL that a client polls.
	Operation string `json:"operation,omitempty"`
	// Resource makes Job or Operation name one step of a deployment, by the ID of its
	// resource. A step is only given up.
	Resource string `json:"resource,omitempty"`
	// Fence is the ID that fences stand on.
	Fence string `json:"fence,omitempty"`
	// Sink is the name of a receiver of events.
	Sink string `json:"sink,omitempty"`
	// Event is the id of an event that Sink has not taken; without it the order is for all
	// waiting events.
	Event string `json:"event,omitempty"`
	// Region makes ID name the stray in that region, and not the row.
	Region string `json:"region,omitempty"`
	Step   string `json:"step"`
	// DryRun only reports what the step would do, or why it is refused. It needs no reason.
	DryRun bool `json:"dryRun,omitempty"`
	// Reason goes to the audit log. It is required to forget a resource, and to give up
	// an event.
	Reason string `json:"reason,omitempty"`
}

// Unstuck is the result of a step.
type Unstuck struct {
	Step   string `json:"step"`
	DryRun bool   `json:"dryRun,omitempty"` // nothing was done: Outcome is what would be done
	// Target is the ID, or the job, that the step was for.
	Target  string   `json:"target"`
	Outcome string   `json:"outcome"`
	Jobs    []string `json:"jobs"` // that continue the work
}
