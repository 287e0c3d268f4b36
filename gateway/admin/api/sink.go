package api

import (
	"net/http"
	"time"

	"portico/events"
)

var sinkOperations = []Operation{
	{
		Method: http.MethodGet, Path: "/admin/sinks",
		Summary: "The configured receivers of events.",
		Answer:  Page[Sink]{}, Status: http.StatusOK,
	},
	{Method: http.MethodGet, Path: "/admin/sinks/{name}", Summary: "One receiver of events.", Answer: Sink{}, Status: http.StatusOK},
	{
		Method: http.MethodPost, Path: "/admin/sinks/{name}/test",
		Summary: "Sends one empty event, once, and returns the outcome.",
		Answer:  SinkTest{}, Status: http.StatusOK,
	},
	{
		Method: http.MethodGet, Path: "/admin/sinks/{name}/retrying",
		Summary: "The events of a sink that are being retried while later ones overtake them.",
		Query:   paging, Answer: Page[RetriedEvent]{}, Status: http.StatusOK,
	},
	{
		Method: http.MethodGet, Path: "/admin/sinks/{name}/dead",
		Summary: "The dead letters: events that were given up.",
		Query:   paging, Answer: Page[DeadLetter]{}, Status: http.StatusOK,
	},
	{
		Method: http.MethodPost, Path: "/admin/sinks/{name}/dead/replay",
		Summary: "Schedules dead letters for another attempt.",
		Content: Replay{}, Answer: Replayed{}, Status: http.StatusAccepted,
	},
	{Method: http.MethodDelete, Path: "/admin/sinks/{name}/dead/{id}", Summary: "Forgets a dead letter.", Answer: Nothing{}, Status: http.StatusOK},
}

// Sink is a receiver of events. Of its URL only the host is shown.
type Sink struct {
	Name  string `json:"name"`
	Host  string `json:"host"`
	State string `json:"state"` // Delivering, Away (the receiver takes nothing) or Starting
	Owner string `json:"owner,omitempty"`
	// After is the feed's token of its progress.
	After       string     `json:"after,omitempty"`
	Lag         int64      `json:"lagEvents"`
	LagSeconds  float64    `json:"lagSeconds"`
	Retrying    int        `json:"retrying"`
	Dead        int        `json:"dead"`
	Delivered   int64      `json:"delivered"`
	Forgotten   int64      `json:"forgotten"`
	LastSuccess *time.Time `json:"lastSuccess,omitempty"`
	LastFailure *time.Time `json:"lastFailure,omitempty"`
	Failure     string     `json:"failure,omitempty"` // of the attempt that failed last
	Status      int        `json:"status,omitempty"`  // of its answer
	// FailedEvent is the id of the event in the failed message; absent if the message
	// had several.
	FailedEvent string     `json:"failedEvent,omitempty"`
	AwaySince   *time.Time `json:"awaySince,omitempty"`
}

// SinkTest is the outcome of a test event.
type SinkTest struct {
	Outcome string `json:"outcome"`
	Status  int    `json:"status,omitempty"` // of the receiver's answer
}

// RetriedEvent is an event that the sink did not take and that is tried again.
type RetriedEvent struct {
	ID       string `json:"id"` // the event's sequence
	Failure  string `json:"failure,omitempty"`
	Status   int    `json:"status,omitempty"`
	Attempts int64  `json:"attempts"` // 0: it waits for an earlier event of its resource
	// Since is when it first failed, Next when it is tried again.
	Since *time.Time `json:"since,omitempty"`
	Next  *time.Time `json:"next,omitempty"`
	// Event is absent if it is no longer kept.
	Event *events.CloudEvent `json:"event,omitempty"`
}

// DeadLetter is an event that was given up.
type DeadLetter struct {
	ID       string    `json:"id"` // the event's sequence
	Failure  string    `json:"failure"`
	Status   int       `json:"status,omitempty"`
	Attempts int64     `json:"attempts"`
	Since    time.Time `json:"since"`
	GivenUp  time.Time `json:"givenUp"`
	// Reason is the reason of the operator who gave it up; empty: the delivery gave it
	// up.
	Reason string `json:"reason,omitempty"`
	// Event is absent if it is no longer kept.
	Event *events.CloudEvent `json:"event,omitempty"`
}

// Replay names dead letters.
type Replay struct {
	IDs []string `json:"ids,omitempty"` // left out: all
}

// Replayed is the number of dead letters that are tried again.
type Replayed struct {
	Replayed int `json:"replayed"`
}

// Nothing is an empty answer.
type Nothing struct{}
