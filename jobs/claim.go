package jobs

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"portico/inventory/jobrow"
	"portico/tracing"
)

// Claim is a claimed job, for one attempt.
type Claim struct {
	Job jobrow.Job

	store *jobrow.Jobs
	trace string // the id of the attempt's trace, "" if it is not sampled
}

// Save durably records progress. After jobrow.ErrLeaseLost another replica holds the
// job, and the attempt has to end.
func (c *Claim) Save(ctx context.Context, payload string) error {
	return c.store.Save(ctx, &c.Job, payload)
}

// Correlation returns the correlation id for the calls of a job that no client's request started.
func (c *Claim) Correlation() string { return uuid.UUID(c.Job.Incarnation).String() }

// traceField returns the log field of the attempt's trace, if it has one.
func (c *Claim) traceField() zap.Field {
	if c.trace == "" {
		return zap.Skip()
	}
	return zap.String("traceId", c.trace)
}

// Header returns the headers with the ids of a call of the job.
func (c *Claim) Header(region string) http.Header { return Header(c.Correlation(), "", region) }

// Header returns the headers with the ids of a call: its correlation and, if client is not empty,
// the id that a client gave its request.
func Header(correlation, client, region string) http.Header {
	header := http.Header{}
	tracing.IdentityForCorrelation(correlation, client, region, time.Now()).Stamp(header)
	return header
}
