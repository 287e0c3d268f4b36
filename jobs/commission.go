package jobs

import (
	"portico/access"
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
