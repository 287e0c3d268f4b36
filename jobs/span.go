package jobs

import (
	"portico/inventory/jobrow"
	"portico/tracing/spans"
)

// beginSpan begins an attempt's span; nil if it has none.
func (w *worker) beginSpan(kind Kind, job jobrow.Job) *spans.Span {
	if _, ok := kind.(SelfTraced); ok {
		return nil
	}
	return w.Tracer.Attempt("job "+w.name, job.Trace, w.Store.Now().Sub(job.Created))
}

// endSpan ends an attempt's span with the outcome of the attempt.
func endSpan(span *spans.Span, claim *Claim, outcome string) {
	if span == nil {
		return
	}
	span.Text(spans.Job, claim.Job.Kind)
	span.Text(spans.JobID, claim.Job.Name())
	span.Number(spans.Tries, int(claim.Job.Attempts))
	span.Text(spans.Region, claim.Job.Region)
	span.Text(spans.Subscription, claim.Job.Subscription)
	span.Text(spans.Correlation, claim.spanCorrelation())
	span.Text(spans.Outcome, outcome)
	if outcome == outcomeFailed || outcome == outcomePanicked {
		span.Fail("")
	}
	span.End()
}

// spanCorrelation returns the correlation id of the job's calls, which comes from the request that
// created the job, if one did.
func (c *Claim) spanCorrelation() string {
	if commission, err := CommissionOf(c.Job); err == nil && commission.Correlation != "" {
		return commission.Correlation
	}
	return c.Correlation()
}
