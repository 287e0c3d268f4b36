package jobs

import (
	"errors"
	"time"

	"portico/arm"
)

// Remaining is a resource that a job has left to work on, as it was recorded: the replica
// that holds the job may be some seconds ahead.
type Remaining struct {
	ID, Type, Region string
	// Key identifies it within the job. Parent is the key of the resource that it lies
	// below, or "", and WaitsFor has the keys of resources that have to go before it.
	Key, Parent string
	WaitsFor    []string
	State       RemainingState
	Stray       bool      // the index does not have it in this region
	Tries       int       // failures in a row
	Failing     time.Time // the first of them
	Why         string    // the last failure, or the provider's reason
	OwnWrite    string    // the kind of the write of the resource itself whose end a refused one waits for
	Due         time.Time
}

// RemainingState is the state of the work on a resource.
type RemainingState uint8

// The values of RemainingState.
const (
	RemainingWaiting  RemainingState = iota // to be sent when it is due
	RemainingInFlight                       // its call is under way
	RemainingAccepted                       // its provider works on it or is asked about it
	RemainingRefused                        // by its provider, for now
)

// ErrNoBreakdown means that what a job works on is gone, or belongs to another job now.
var ErrNoBreakdown = errors.New("jobs: the job has no steps any more")

// Breakdown shows a job, and each of its steps, as they were recorded. It has no secrets.
type Breakdown struct {
	ID            string // of what the job works on
	State         string
	Mode          string
	CorrelationID string
	Fault         *arm.Error // why it has failed
	Steps         []BreakdownStep
}

// BreakdownStep is the work on one resource.
type BreakdownStep struct {
	ID, Type  string
	State     string
	Removes   bool      // it is a deletion
	Within    string    // the ID of the step that holds it
	DependsOn []string  // the IDs of other steps
	Began     time.Time // when it was last sent; zero: never
	Ended     time.Time // zero: it has not ended
	Status    string    // of the provider's last answer
	Fault     *arm.Error
	WaitsFor  string // why a deletion that was refused is tried again, if the resource's own write is the reason
}
