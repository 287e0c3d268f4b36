package explain

import (
	"fmt"

	"portico/connections"
	"portico/gateway/admin/api"
	"portico/gateway/exchange"
)

// Refused explains bytes that are answered before there is a request. Reader says by whose
// rules.
func Refused(refusal *connections.Refusal, reader string) api.Explanation {
	fault := exchange.NoRequest(refusal)
	return atHead(api.Verdict{
		Outcome: api.Refused, Status: fault.Status, Code: string(fault.Code), Message: fault.Message,
		Summary: fmt.Sprintf("refused before any handler: %d %s: %s The connection ends with that answer.", fault.Status, fault.Code, fault.Message),
	}, reader)
}

// Unended explains bytes whose head does not end.
func Unended(reader string) api.Explanation {
	return atHead(api.Verdict{
		Outcome: api.Refused, Summary: "not answered: the head has no end, which is an empty line. The gateway waits some seconds for the rest, and closes the connection.",
	}, reader)
}

func atHead(v api.Verdict, reader string) api.Explanation {
	v.Step = string(exchange.AtHead)
	return api.Explanation{
		Verdict: v, Caller: api.ExplainedCaller{Roles: api.RolesNotAsked},
		Checks: []api.ExplainedCheck{{Step: v.Step, Detail: v.Summary + " (" + reader + ")"}},
	}
}
