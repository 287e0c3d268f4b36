// Package explain shows how a request would be handled, without sending it.
//
// The request goes through the gateway's own handlers, without effects: the store rolls back
// each write ([engine.Rehearse]), and [Calls] replaces the client that calls providers. The
// handlers record their findings in the request's [exchange.Trail], and this package puts
// them into words.
package explain

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"portico/access"
	"portico/arm"
	"portico/gateway/admin/api"
	"portico/gateway/exchange"
	"portico/inventory"
	"portico/routing"
)

// Walked is a request after it went through the handlers.
type Walked struct {
	Exchange *exchange.Exchange
	Answer   *exchange.Captured
	Method   string
	Read     bool // its path and query are well-formed
	Calls    *Calls
	// Locks are the locks on the resource that the request names and above it.
	Locks []inventory.Lock
	// Roles is how roles apply to the request, one of the constants of package api.
	Roles string
	// SignIn is the result of signing in; nil if the question names the caller.
	SignIn *access.Explanation
}

// Explanation puts the findings into words.
func (w *Walked) Explanation() api.Explanation {
	x := w.Exchange
	e := api.Explanation{
		Request: w.request(),
		Caller:  api.ExplainedCaller{ObjectID: x.Principal.ObjectID, TenantID: x.Principal.TenantID, Roles: w.Roles},
		SignIn:  w.signIn(),
		Place:   w.place(),
		Locks:   w.locks(),
		Calls:   w.calls(),
	}
	e.Verdict = w.verdict(e.Place)
	e.Checks = w.checks(e.Verdict)
	return e
}

func (w *Walked) request() api.ExplainedRequest {
	x := w.Exchange
	e := api.ExplainedRequest{Method: w.Method, Path: target(x.Path, x.Query)}
	q := x.Request
	if !w.Read {
		return e
	}
	e.Class, e.APIVersion = q.Class.String(), q.Query.APIVersion
	if q.Class == routing.Own {
		e.Route = x.Route
		return e
	}
	if q.Provider != nil {
		e.Provider = q.Provider.Namespace
	}
	if q.Type != nil {
		e.ResourceType, e.Kind = q.Type.FullName, q.Type.Kind.String()
	}
	return e
}

func target(path, query string) string {
	if query == "" {
		return path
	}
	return path + "?" + query
}

// locks returns the locks for the answer.
func (w *Walked) locks() (all []api.Lock) {
	for _, l := range w.Locks {
		all = append(all, api.Lock{ID: inventory.LockID(l.ScopeID, l.Name), Scope: l.ScopeID, Name: l.Name, Level: l.Level.String(), Notes: l.Notes})
	}
	return all
}

// calls returns the calls that providers would get.
func (w *Walked) calls() []api.ExplainedCall {
	var all []api.ExplainedCall
	for i := range w.Calls.recorded {
		c := &w.Calls.recorded[i]
		e := api.ExplainedCall{
			Purpose: c.purpose, Method: c.Method, Region: c.Endpoint.Region, Path: target(c.Path, c.Query), Headers: c.headers(), Sent: c.sent,
		}
		for _, a := range c.addresses {
			state := api.Down
			if a.Health.Up {
				state = api.Up
			}
			e.Addresses = append(e.Addresses, api.ExplainedAddress{URL: a.Address, State: state, Circuit: a.Health.Circuit.String(), Candidate: a.Candidate})
		}
		all = append(all, e)
	}
	slices.SortStableFunc(all, func(a, b api.ExplainedCall) int {
		if a.Purpose != api.List || b.Purpose != api.List {
			return 0
		}
		return strings.Compare(a.Region, b.Region) // they are sent at the same time
	})
	return all
}

// failure returns the code and message of Portico's own error, if it answers with one.
func (w *Walked) failure() (code arm.Code, message string) {
	if w.Exchange.Cause != exchange.CauseGateway {
		return "", ""
	}
	var body struct {
		Error struct {
			Code    arm.Code
			Message string
		}
	}
	if json.Unmarshal(w.Answer.Body, &body) != nil {
		return "", ""
	}
	return body.Error.Code, body.Error.Message
}

// refused reports whether Portico itself answers with an error.
func (w *Walked) refused() bool { return w.Answer.Status >= http.StatusBadRequest }
