package jobs

import (
	"portico/access"
	"portico/events"
	"portico/inventory/jobrow"
)

// Commission is the part of the payload of a [Commissioned] kind's job that names the
// client's request.
type Commission struct {
	Correlation string           `json:"correlation"` // of all calls of the job
	Caller      access.Principal `json:"caller"`      // who sent the request
}

// CommissionOf reads the commission in a job's payload.
func CommissionOf(job jobrow.Job) (c Commission, err error) {
	err = job.Read(&c)
	return c, err
}

// causeOf is a job as the cause of what it changes: the client that asked for it, if one
// did.
func causeOf(kind Kind, job jobrow.Job) *events.Cause {
	cause := &events.Cause{Job: job.Kind}
	if _, ok := kind.(Commissioned); !ok {
		return cause
	}
	c, err := CommissionOf(job)
	if err != nil {
		return cause // which the attempt will say
	}
	cause.TenantID, cause.ObjectID, cause.AppID = c.Caller.TenantID, c.Caller.ObjectID, c.Caller.AppID
	cause.Name, cause.Issuer, cause.Application = c.Caller.Name, c.Caller.Issuer, c.Caller.Kind() == "Application"
	cause.Correlation = c.Correlation
	return cause
}
