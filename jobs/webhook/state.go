package webhook

import (
	"time"

	"portico/inventory/jobrow"
)

// state is the payload of a sink's job.
type state struct {
	// AbsentSince is the time since which no replica that held the job had the sink in
	// its configuration.
	AbsentSince time.Time  `json:"absentSince,omitzero"`
	Progress    SinkStatus `json:"progress"`
}

// SinkStatus is the progress of a sink.
type SinkStatus struct {
	// Cursor is a number: all events up to it were taken, or left behind.
	Cursor    int64 `json:"cursor"`
	Delivered int64 `json:"delivered"`
	// Forgotten is the number of events that were no longer kept when their turn came,
	// wanted or not.
	Forgotten   int64     `json:"forgotten,omitempty"`
	LastSuccess time.Time `json:"lastSuccess,omitzero"`
	LastFailure time.Time `json:"lastFailure,omitzero"`
	// Failure is the outcome of the attempt that failed last, Status its answer's.
	Failure string `json:"failure,omitempty"`
	Status  int    `json:"status,omitempty"`
	// Event is the number of the event that was sent then; 0: there were several.
	Event int64 `json:"event,omitempty"`
	// AwaySince is the time since which the receiver takes nothing; zero: it takes
	// events.
	AwaySince time.Time `json:"awaySince,omitzero"`
}

func readState(j jobrow.Job) (s state, err error) {
	err = j.Read(&s)
	return s, err
}

func (s state) payload() string { return jobrow.PayloadOf(s) }
