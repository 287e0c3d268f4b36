package jobs

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"portico/inventory/jobrow"
)

// Kind is one kind of work, made for one configuration.
type Kind interface {
	// Run makes one attempt. It must end with ctx, which is cancelled when the
	// lease is lost. After an error the next attempt waits, the longer the more
	// attempts have failed.
	Run(ctx context.Context, claim *Claim) (Result, error)
	// Describe says what the kind's jobs are. It needs no part that outlives the
	// configuration.
	Describe() Description
}

// Lasting is a Kind with a part that outlives the configuration: its metrics, or
// the bounds of its calls.
type Lasting interface {
	// Start makes that part. It is called once, on the first kind of a name.
	Start(metrics prometheus.Registerer)
	// Succeed takes that part over from the kind that this one replaces. Attempts
	// that were begun by the former kind go on.
	Succeed(before Kind)
}

// Commissioned is a Kind whose jobs clients ask for. The runner bounds the jobs
// that it works on for one caller at a time.
type Commissioned interface {
	// Caller names the client of a job. After an error the job counts for nobody,
	// and its attempt will say what is wrong with it.
	Caller(ctx context.Context, job jobrow.Job) (string, error)
}

// Measured is a Kind with metrics that Measure updates from time to time. open is how
// many of its jobs have not ended: where there is none, it need not ask for them.
type Measured interface {
	Measure(ctx context.Context, open int) error
}

// Scheduled is a Kind that adds jobs by itself. Schedule is called from time to
// time on each replica, by one goroutine. It has little time, and goes on with the
// next call.
type Scheduled interface {
	Schedule(ctx context.Context) error
}

// SelfTraced is a Kind whose attempts go on without an end: they have no spans, and the
// kind begins a trace for each piece of its work.
type SelfTraced interface {
	TracesItself()
}

// Result is what an attempt came to. The zero Result means that the work is not
// done and is to be tried again as after an error.
type Result struct {
	End   jobrow.State  // an end, if it has one
	Again time.Duration // > 0: it goes on, after this pause; with an error, the pause in place of the runner's
	// Payload replaces the job's; empty: it stays as it was last saved.
	Payload string
	// Recorded: what the attempt did in the inventory has removed the job.
	Recorded bool
}
