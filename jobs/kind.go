package jobs

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"portico/inventory/jobrow"
)

// Kind is one kind of work, made for one configuration.
type Kind interface {
	// Run makes one attempt. It must end with ctx, which is cancelled when the lease is
	// lost. After an error the runner waits before the next attempt, longer after each
	// failure.
	Run(ctx context.Context, claim *Claim) (Result, error)
	// Describe describes the kind's jobs. It needs no part that outlives the
	// configuration.
	Describe() Description
}

// Lasting is a Kind with a part that outlives the configuration, such as its metrics or
// the bounds of its calls.
type Lasting interface {
	// Start creates that part. The runner calls it once, on the first kind of a name.
	Start(metrics prometheus.Registerer)
	// Succeed takes that part over from the kind that this one replaces. Attempts that
	// the former kind started go on.
	Succeed(before Kind)
}

// Commissioned is a Kind whose jobs clients request. The runner bounds the jobs that it
// works on for one caller at a time.
type Commissioned interface {
	// Caller names the client of a job. After an error the job counts against no
	// caller, and its attempt reports what is wrong with it.
	Caller(ctx context.Context, job jobrow.Job) (string, error)
}

// Measured is a Kind with metrics that Measure updates from time to time. open is the
// number of its jobs that have not ended, so that it can skip reading them if there are
// none.
type Measured interface {
	Measure(ctx context.Context, open int) error
}

// Scheduled is a Kind that adds jobs by itself. One goroutine of each replica calls
// Schedule from time to time. Schedule has little time, and continues at the next call.
type Scheduled interface {
	Schedule(ctx context.Context) error
}

// SelfTraced is a Kind whose attempts never end: they have no spans, and the kind
// begins a trace for each piece of its work.
type SelfTraced interface {
	TracesItself()
}

// Result is the result of an attempt. The zero Result means that the work is not done,
// and the runner tries again as after an error.
type Result struct {
	End   jobrow.State  // an end, if it has one
	Again time.Duration // > 0: it goes on, after this pause; with an error, the pause in place of the runner's
	// Payload replaces the job's; empty: the one that was last saved stays.
	Payload string
	// Recorded: the attempt has ended the job by a transaction of its own.
	Recorded bool
}
