package groups

import (
	"portico/gateway/exchange"
	"portico/jobs"
)

// commission names a request to the job that goes on with it, by its caller as it is in a
// tenant.
func commission(x *exchange.Exchange, tenant string) jobs.Commission {
	return jobs.Commission{
		Correlation: x.Identity.Correlation, Caller: x.Principal.In(tenant),
		Request: jobs.Request{
			ID: x.Identity.Request, Client: x.Identity.Client, Address: x.ClientAddress(), Method: x.Request.Method, URI: x.Path,
		},
	}
}
