package jobs

import (
	"cmp"
	"net/http"

	"portico/access"
	"portico/events"
	"portico/inventory/jobrow"
)

// Commission is the part of the payload of a [Commissioned] kind's job that names the
// client's request.
type Commission struct {
	Correlation string           `json:"correlation"` // for all calls of the job
	Caller      access.Principal `json:"caller"`      // the caller that sent the request
	Request     Request          `json:"request,omitzero"`
}

// Request has the facts about a client's request that are reported when its work ends.
type Request struct {
	ID      string `json:"id"`
	Client  string `json:"clientId,omitempty"` // the id that the client gave it
	Address string `json:"address,omitempty"`  // the client's
	Method  string `json:"method"`
	URI     string `json:"uri"` // the path
}

// Header returns the ids of a call on behalf of the request.
func (c Commission) Header(region string) http.Header {
	return Header(c.Correlation, c.Request.Client, region)
}

// CommissionOf reads the commission in a job's payload.
func CommissionOf(job jobrow.Job) (c Commission, err error) {
	err = job.Read(&c)
	return c, err
}

// causeOf returns the cause of a job's changes: the client that requested the job, if
// one did.
func causeOf(kind Kind, job jobrow.Job) *events.Cause {
	if _, ok := kind.(Commissioned); !ok {
		return &events.Cause{Job: job.Kind, JobID: job.Name()}
	}
	cause := CauseOf(job)
	cause.JobOn = cmp.Or(kind.Describe().Progress(job).On, job.Subject)
	return &cause
}

// CauseOf returns the client that requested a job as the cause of the job's changes.
func CauseOf(job jobrow.Job) events.Cause {
	cause := events.Cause{Job: job.Kind, JobID: job.Name()}
	c, err := CommissionOf(job)
	if err != nil {
		return cause // the attempt reports the error
	}
	cause.TenantID, cause.ObjectID, cause.AppID = c.Caller.TenantID, c.Caller.ObjectID, c.Caller.AppID
	cause.Name, cause.Issuer, cause.Application = c.Caller.Name, c.Caller.Issuer, c.Caller.Kind() == "Application"
	cause.Correlation = c.Correlation
	cause.Request, cause.ClientRequest, cause.Address = c.Request.ID, c.Request.Client, c.Request.Address
	cause.Method, cause.URI = c.Request.Method, c.Request.URI
	return cause
}
