package deployments

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/gateway/frontdoor/route"
	"portico/jobs/deploy"
	"portico/limits"
	"portico/template"
	"portico/template/expr"
)

// WhatIf serves validate and whatIf: what a deployment would do, without doing it.
type WhatIf struct {
	Orders
	Judge Checker
	// Get reads a target as the caller of a request.
	Get func(r *http.Request, x *exchange.Exchange, target string) (status int, body []byte, fault *arm.Error)
	// Deployed returns the records of resources that deployments have made, by folded
	// IDs.
	Deployed func(ctx context.Context, subscription string, ids []string) (map[string][]byte, error)
	// Reading is how long after its start a what-if may begin reads: its caller waits for
	// the answer.
	Reading time.Duration
	// Memory holds the answers to reads until a request ends; MemoryLimit bounds one
	// request.
	Memory      *limits.Memory
	MemoryLimit int64
}

// reserve returns a function that reserves memory for n bytes of answers, or fails, and
// one that frees all of it.
func (d WhatIf) reserve(r *http.Request, x *exchange.Exchange) (grow func(n int) error, end func()) {
	memory := d.Memory.Reservation(x.Caller(), d.MemoryLimit)
	var turn sync.Mutex // a reservation is not safe for concurrent use
	return func(n int) error {
		turn.Lock()
		defer turn.Unlock()
		if memory.Grow(r.Context(), int64(n)) != nil {
			return arm.NewError(arm.ServerBusy, "the answers that batches and what-ifs hold take all the memory that there is for them")
		}
		return nil
	}, memory.Close
}

// Routes returns the routes of validate and whatIf.
func (d WhatIf) Routes() (routes []route.Route) {
	for _, scope := range []string{"/subscriptions/{s}", "/subscriptions/{s}/resourcegroups/{g}"} {
		const of = "/providers/microsoft.resources/deployments/{d}/"
		routes = append(routes,
			route.Route{
				Method: http.MethodPost, Path: scope + of + "validate", Action: "Microsoft.Resources/deployments/validate/action", IgnoresLocks: true,
				Relaxed: true, Handle: d.validate,
			},
			route.Route{
				Method: http.MethodPost, Path: scope + of + "whatif", Action: "Microsoft.Resources/deployments/whatIf/action", IgnoresLocks: true,
				Relaxed: true, Handle: d.whatIf,
			})
	}
	return routes
}

// groupsVersion is the api-version for reading groups and their resources.
const groupsVersion = "2021-04-01"

// read reads the resource with an ID, as the caller. fault is the reason why it could not
// be read.
func (d WhatIf) read(r *http.Request, x *exchange.Exchange, id, version string) (v expr.Value, there bool, fault *arm.Error) {
	v, fault = d.get(r, x, pathOf(id)+"?api-version="+url.QueryEscape(version))
	if fault != nil && fault.Status == http.StatusNotFound && !unknownType(fault) {
		return v, false, nil
	}
	return v, fault == nil, fault
}

// unknownType reports whether a read found nothing because no region serves the type.
func unknownType(fault *arm.Error) bool {
	return fault.Code == arm.InvalidResourceNamespace || fault.Code == arm.InvalidResourceType
}

// get reads a target, as the caller. fault is the error in the answer, or of reading it.
func (d WhatIf) get(r *http.Request, x *exchange.Exchange, target string) (v expr.Value, fault *arm.Error) {
	status, body, fault := d.Get(r, x, target)
	if fault != nil {
		return v, fault
	}
	v, fault = deploy.Response{Status: status, Body: body}.Value(target)
	return v, fault.Within(arm.ErrorBytes)
}

// pathOf returns the request path for an ID.
func pathOf(id string) string {
	segments := strings.Split(id, "/")
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	return strings.Join(segments, "/")
}

// certainlySent reports whether it is known that and where a resource is sent.
func certainlySent(planned *template.Resource) bool {
	return !planned.Existing && planned.Unfolds == nil && planned.Condition.Is(expr.Bool)
}
