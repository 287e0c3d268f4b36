package jobs

import (
	"context"
	"errors"
	"time"

	"portico/arm"
	"portico/inventory"
	"portico/inventory/jobrow"
)

// Description says what the jobs of a kind are to operators: what they can do with one,
// how it is shown, and which requests it holds up. The admin listener, its commands and
// its console know of a kind what is said here, and nothing else.
type Description struct {
	// Cancellable jobs end early when an operator orders that. The others keep the index
	// true: they end when it is.
	Cancellable bool
	// AfterRestore is what becomes of open jobs in a database that was restored.
	AfterRestore AfterRestore
	// Target is what an operator acts on in place of a job.
	Target Target

	// Parts: the admin listener lists what is left of a job, part by part.
	Parts bool

	// Limit is the time from its creation within which a job should end; 0: it has none.
	// LimitSetting is the setting that says so.
	Limit        time.Duration
	LimitSetting string
	// Problems are the codes of the problems that a job which goes on for long is reported by.
	Problems Problems

	// Reason and Message say why what a job works on waits: as a code, and in a sentence.
	Reason, Message string
	// Refusals are the codes by which requests are refused until a job ends.
	Refusals []arm.Code
	// HeldAt finds the open jobs that hold up requests for what a path names; nil: none do.
	HeldAt func(ctx context.Context, path *arm.Path) ([]Hold, error)

	// Show reads what a job's row says of its work; nil: nothing but the row itself.
	Show func(jobrow.Job) Standing
	// Remedy is the words of the command by which a job goes on, or more is seen of it;
	// nil: that shows the job.
	Remedy func(jobrow.Job) []string
	// GiveUp ends a job that is not Cancellable as its own limit would; nil: that cannot be.
	GiveUp func(context.Context, jobrow.Job) (GivenUp, error)
}

// AfterRestore is what becomes of the open jobs of a kind in a database that was restored.
type AfterRestore uint8

// The values of AfterRestore.
const (
	Resumed   AfterRestore = iota
	Cancelled              // as if an operator had cancelled each
	Removed                // what they are about is found out anew
)

// Target is what an operator acts on in place of a job.
type Target uint8

// The values of Target.
const (
	TheJob      Target = iota
	TheResource        // whose key is the job's subject
	TheFence           // on the ID that is the job's subject
	TheSink            // whose name is the job's subject
)

// Problems say how operators are told of jobs that go on for long. Those of a kind with
// Summary, of which there may be very many, are counted in one problem; of others each is
// a problem.
type Problems struct {
	TooLong string // beyond the limit; "": the code that kinds without one share
	Waiting string // for a region that does not answer; "": not told
	Slow    string // for half an hour; "": not told
	Subject string // of the sentence about one job, such as "The deletion of a group"

	After     time.Duration // from when on jobs are counted; 0: from Limit on
	Summary   string        // with one %s, for their number
	One, Many string        // what is counted
}

// Standing is what a job's row says of its work.
type Standing struct {
	On      string // the ID of what it works on, where the row's subject is none
	Write   string // the kind of write that it works for
	Region  string // that it depends on
	Message string // in place of the description's
	Outcome string // what came of it last, or how far it has come, in sentences
	Left    string // what is left to do, as a clause
	// Done of so many steps are done; Of is 0 where that is not known.
	Done, Of   int
	WaitingFor []string // the regions that do not answer
}

// Hold is a job that holds up requests.
type Hold struct {
	Job jobrow.Job
	On  string // the ID of what it works on
}

// HoldOf returns the job of an ID, on what it works on; none where it has ended.
func HoldOf(ctx context.Context, store *inventory.Store, sub string, id [16]byte, on string) ([]Hold, error) {
	j, err := store.Job(ctx, sub, id)
	if errors.Is(err, inventory.ErrNotFound) || err == nil && j.State.Ended() {
		return nil, nil
	}
	return []Hold{{j, on}}, err
}

// GivenUp says what was done to give a job up.
type GivenUp struct {
	Outcome string // in sentences
	Next    string // the kind of the jobs that go on from here, "" for none
}

// Standing returns what a job's row says of its work.
func (d Description) Standing(j jobrow.Job) (s Standing) {
	if d.Show != nil {
		s = d.Show(j)
	}
	return s
}

// Command returns the words of the command by which a job goes on, or more is seen of it.
func (d Description) Command(j jobrow.Job) []string {
	if d.Remedy != nil {
		return d.Remedy(j)
	}
	return []string{"jobs", "show", j.Name()}
}
