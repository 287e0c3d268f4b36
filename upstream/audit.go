package upstream

import (
	"net/http"
	"time"
)

// Auditor receives each call that durable work made: when it began, and the status
// of its answer or its error. It must not keep the call.
type Auditor func(call Call, began time.Time, status int, err error)

// Audit sets the auditor of calls with a Job.
func (c *Client) Audit(a Auditor) { c.audit.Store(&a) }

func (c *Client) auditCall(call *Call, began time.Time, response *http.Response, err error) {
	auditor := c.audit.Load()
	if auditor == nil {
		return
	}
	status := 0
	if err == nil {
		status = response.StatusCode
	}
	(*auditor)(*call, began, status, err)
}
