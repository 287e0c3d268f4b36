package inventory

import "portico/inventory/jobrow"

// jobs gives a Store the calls about [Job].
type jobs = jobrow.Rows

// The names of package jobrow that callers of the inventory use.
type (
	// Job is [jobrow.Job].
	Job = jobrow.Job
	// JobState is [jobrow.State].
	JobState = jobrow.State
	// JobQuery is [jobrow.Query].
	JobQuery = jobrow.Query
	// JobCounts is [jobrow.Counts].
	JobCounts = jobrow.Counts
)

// The states of a job, and when it counts as put off.
const (
	JobWaiting    = jobrow.Waiting
	JobCancelling = jobrow.Cancelling
	JobDone       = jobrow.Done
	JobFailed     = jobrow.Failed
	JobCancelled  = jobrow.Cancelled

	ManyAttempts = jobrow.ManyAttempts
)

// What refuses a change of a job.
var (
	ErrDeposed  = jobrow.ErrDeposed
	ErrJobEnded = jobrow.ErrEnded
)

// JobID is [jobrow.ID].
func JobID(kind, subject string) [16]byte { return jobrow.ID(kind, subject) }

// PayloadOf is [jobrow.PayloadOf].
func PayloadOf(kept any) string { return jobrow.PayloadOf(kept) }

// ParseJobName is [jobrow.ParseName].
func ParseJobName(name string) (sub string, id [16]byte, err error) { return jobrow.ParseName(name) }
