package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"portico/arm"
	"portico/inventory"
	"portico/inventory/jobrow"
)

// Description describes the jobs of a kind to operators: what they can do with a job, how
// it is shown, and which requests it holds up. The admin listener, its commands and its
// console use nothing else of a kind.
type Description struct {
	// Cancellable jobs end early when an operator orders it. Other jobs keep the index true,
	// and end only when it is.
	Cancellable bool
	// Canceled says, in a sentence, what stays of the work of a job that is canceled.
	Canceled string
	// AfterRestore is the treatment of open jobs by a restore.
	AfterRestore AfterRestore
	// Subject is the kind of thing that the subject of a job names. Operators act on that in
	// place of the job.
	Subject SubjectKind

	// Limit is the time within which a job should end after its creation; 0: no limit.
	// LimitSetting names its setting.
	Limit        time.Duration
	LimitSetting string
	// Problems are the codes of the problems that report a long-running job.
	Problems Problems

	// Reason and Message explain why the subject of a job has to wait, as a code and as a
	// sentence.
	Reason, Message string
	// Refusals are the error codes that requests get until a job ends.
	Refusals []arm.Code
	// HoldsAt finds the open jobs that hold up requests for a path; nil: none do.
	HoldsAt func(ctx context.Context, path *arm.Path) ([]Hold, error)

	// Show reads the progress of a job from its row; nil: operators see only the row
	// itself.
	Show func(jobrow.Job) ProgressReport
	// Remaining lists at most limit of the resources that a job has left to work on; nil:
	// the kind does not list them.
	Remaining func(ctx context.Context, j jobrow.Job, limit int) ([]Remaining, error)
	// Breakdown shows a job step by step; nil: the kind does not. Its errors include
	// ErrNoBreakdown.
	Breakdown func(ctx context.Context, j jobrow.Job) (Breakdown, error)
	// Remedy returns the words of the command that moves a job on, or shows more of it;
	// nil: the command that shows the job.
	Remedy func(jobrow.Job) []string
	// GiveUp ends a job that is not Cancellable, as its own limit would; nil: the kind has
	// no such limit.
	GiveUp func(context.Context, jobrow.Job) (GivenUp, error)
	// GiveUpPart ends the part of a job that works on a resource, while the job goes on; nil:
	// the kind has no such parts.
	GiveUpPart func(ctx context.Context, j jobrow.Job, resource string) (GivenUp, error)
}

// AfterRestore is the treatment of a kind's open jobs by a restore.
type AfterRestore uint8

// The values of AfterRestore.
const (
	Resumed   AfterRestore = iota
	Cancelled              // as if an operator had cancelled each
	Removed                // the gateway creates them again where they are needed
)

// SubjectKind is the kind of thing that the subject of a job names.
type SubjectKind uint8

// The kinds of subjects.
const (
	OtherSubject    SubjectKind = iota // operators act on the job itself
	ResourceSubject                    // the key of a resource
	FenceSubject                       // the ID that fences are on
	SinkSubject                        // the name of a sink
)

// Problems defines how long-running jobs are reported to operators. A kind with Summary may
// have very many, so one problem counts them; for other kinds each job is a problem.
type Problems struct {
	TooLong string // beyond the limit; "": the code that kinds without one share
	Waiting string // for a region that does not answer; "": not reported
	Slow    string // for half an hour; "": not reported
	Subject string // of the sentence about one job, such as "The deletion of a group"

	After     time.Duration // the age from which jobs are counted; 0: Limit
	Summary   string        // with one %s, for their number
	One, Many string        // what is counted
}

// ProgressReport shows the progress of a job, as its row has it.
type ProgressReport struct {
	On      string // the ID that it works on, if the row's subject is not an ID
	Write   string // the kind of write that it works for
	Region  string // that it depends on
	Message string // in place of the description's
	Outcome string // its last result or its progress, in sentences
	Left    string // what is left to do, as a clause
	// Done of Of steps are done; Of is 0 if unknown.
	Done, Of   int
	WaitingFor []string      // the regions that do not answer
	Drained    time.Duration // how long it waited for drained regions, which the limit does not count
}

// Hold is a job that holds up requests.
type Hold struct {
	Job jobrow.Job
	On  string // the ID that it works on
}

// HoldOf returns the job with an ID as a Hold on the given ID; none if it has ended.
func HoldOf(ctx context.Context, store *jobrow.Jobs, sub string, id [16]byte, on string) ([]Hold, error) {
	j, err := store.Get(ctx, sub, id)
	if errors.Is(err, inventory.ErrNotFound) || err == nil && j.State.Ended() {
		return nil, nil
	}
	return []Hold{{j, on}}, err
}

// GivenUp is the result of giving a job up.
type GivenUp struct {
	Outcome string // in sentences
	Next    string // the kind of the jobs that go on from here, "" for none
	Count   func() // counts it, unless it is only tried; nil: it is not counted
}

// Progress returns the progress of a job, from its row.
func (d Description) Progress(j jobrow.Job) (s ProgressReport) {
	if d.Show != nil {
		s = d.Show(j)
	}
	if s.Outcome == "" && s.Of > 0 {
		s.Outcome = fmt.Sprintf("%d of %d steps are done.", s.Done, s.Of)
	}
	if j.State == jobrow.Cancelling {
		s.WaitingFor, s.Message = nil, BeingCanceled
	}
	return s
}

// BeingCanceled is the message about a job whose cancellation was ordered.
const BeingCanceled = "It is being canceled: nothing more is sent, and it ends once what is under way has ended."

// Command returns the words of the command that moves a job on, or shows more of it.
func (d Description) Command(j jobrow.Job) []string {
	if d.Remedy != nil {
		return d.Remedy(j)
	}
	return []string{"jobs", "show", j.Name()}
}
