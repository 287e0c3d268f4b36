package gateway

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"portico/arm"
	"portico/fanout"
	"portico/gateway/exchange"
	"portico/inventory"
	"portico/operations/async"
	"portico/routing"
)

// replay answers a poll of a URL that stands for another one: by that, at the
// endpoint that named it, as long as there is something to ask; then by the
// resource that the operation worked on.
func (g *Gateway) replay(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, p proxied) error {
	if p.Operation.Target != "" && p.Endpoint != nil {
		path, query, _ := strings.Cut(p.Operation.Target, "?")
		answer, err := g.callFor(r, x, p, path, query)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusNotFound && answer.StatusCode != http.StatusGone {
			return g.polled(w, r, x, p, answer)
		}
	}
	return g.endByResource(w, r, x, p)
}

// callFor sends a GET of another path than the request's, on its behalf.
func (g *Gateway) callFor(r *http.Request, x *exchange.Exchange, p proxied, path, query string) (*http.Response, error) {
	call := g.outbound(r, x, p, http.MethodGet)
	call.Path, call.Query = path, query
	call.Header["Referer"] = []string{fanout.PublicLink(g.public, path, query)}
	answer, err := g.upstream.Do(r.Context(), call)
	if err != nil {
		return nil, providerFault(err, x)
	}
	return answer, nil
}

// endByResource answers a poll by what became of the resource. Of an action
// that tells nothing.
func (g *Gateway) endByResource(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, p proxied) error {
	o := *p.Operation
	if o.Method == http.MethodPost {
		return unknownOutcome(o.Namespace)
	}
	o, err := g.present(r.Context(), o)
	if err != nil {
		return err
	}
	standing, answer, err := g.standing(r, x, p, o)
	if err != nil {
		return err
	}
	found := answer != nil
	if found {
		defer answer.Body.Close()
		found = answer.StatusCode != http.StatusNotFound
		if found && answer.StatusCode != http.StatusOK {
			return g.deliver(r.Context(), w, x, standing, answer) // the reading failed, not the operation
		}
	}
	end, err := g.endIn(r.Context(), x, o, answer, found)
	if err != nil {
		return err
	}
	if end.over && o.Resource != "" {
		g.settleEnd(r.Context(), x, o)
	}
	switch {
	case !asksResult(x.Request, &o):
		return g.tellStatus(w, x, o, end)
	case !end.over:
		return g.polls.Pending(w, x)
	case end.fault != nil:
		return end.fault
	case o.Method == http.MethodDelete:
		return x.Answer(w, http.StatusNoContent, nil)
	}
	for _, name := range append([]string{"Retry-After"}, pollingHeaders...) {
		delete(answer.Header, name) // of a read, not of the operation's answer
	}
	return g.deliver(r.Context(), w, x, standing, answer)
}

// unknownOutcome is the end of an action of which nobody can tell what it did. No
// terminal state is true of it, and clients that poll a Location take most errors of
// a server for passing failures, and would go on for ever; but no client asks again
// after a 501.
func unknownOutcome(namespace string) *arm.Error {
	return arm.NewError(arm.InternalServerError).WithStatus(http.StatusNotImplemented).
		Saying("The outcome of the operation is unknown: there is nothing at the provider '%s' that tells of it.", namespace)
}

// standing asks for the resource that an operation works on. It returns no
// answer where the index knows that there is none.
func (g *Gateway) standing(r *http.Request, x *exchange.Exchange, p proxied, o inventory.Operation) (proxied, *http.Response, error) {
	q, fault := routing.Classify(g.router.Map, http.MethodGet, o.Origin, "api-version="+o.APIVersion)
	if fault == nil && (q.Class != routing.Instance || q.Type == nil) {
		fault = x.Request.Unroutable()
	}
	if fault != nil {
		return p, nil, fault
	}
	standing := p
	var err error
	standing.Decision, err = g.resolver.Resolve(r.Context(), x, q, routing.Body{})
	if errors.As(err, &fault) && fault.Status == http.StatusNotFound {
		return p, nil, nil
	}
	if err != nil {
		return p, nil, err
	}
	x.Region = standing.Region
	answer, err := g.callFor(r, x, standing, q.Path.Escaped(), q.Query.Raw)
	return standing, answer, err
}

// ending is what the resource of an operation tells of the operation.
type ending struct {
	over  bool
	state string // a terminal state, or a word of the provider's own
	fault *arm.Error
}

func failed(state, format string, args ...any) ending {
	fault := &arm.Error{Status: http.StatusConflict, Code: "ResourceOperationFailure"}
	return ending{over: true, state: state, fault: fault.Saying(format, args...)}
}

// The terminal states of operations (async reference, Azure-AsyncOperation
// Resource format).
const (
	stateSucceeded  = "Succeeded"
	stateFailed     = "Failed"
	stateInProgress = "InProgress"
)

// endIn tells from a resource, or its absence, what became of the PUT, PATCH or
// DELETE of it (async reference, ProvisioningState property).
func (g *Gateway) endIn(ctx context.Context, x *exchange.Exchange, o inventory.Operation, answer *http.Response, found bool) (ending, error) {
	row, err := inventory.Resource{}, inventory.ErrNotFound
	if o.Resource != "" {
		if row, err = g.store.Resource(ctx, o.Subscription, o.Resource); err != nil && !errors.Is(err, inventory.ErrNotFound) {
			return ending{}, err
		}
	}
	known := err == nil
	if known && !found && answer != nil && g.mayStand(ctx, x, o) {
		return ending{state: stateInProgress}, nil // what the caller is shown is no end
	}
	if !found {
		return g.endInAbsence(o, known && row.FollowPut), nil
	}
	text, err := g.hold(answer, o.Namespace, o.Region)
	if err != nil {
		return ending{}, err
	}
	state, _ := inventory.ReadDetails(text)
	deleted := o.Method == http.MethodDelete
	switch {
	case deleted && known && (row.Region != o.Region || row.Created.After(o.Created)):
		return ending{over: true, state: stateSucceeded}, nil // it was made anew
	case deleted && state == "", state != "" && !async.Terminal(state):
		return ending{state: stateInProgress}, nil
	case deleted:
		return failed(stateFailed, "The resource operation completed with terminal provisioning state '%s': the resource was not deleted.", state), nil
	case state == "" || strings.EqualFold(state, stateSucceeded):
		return ending{over: true, state: stateSucceeded}, nil
	case strings.EqualFold(state, stateFailed):
		return failed(stateFailed, "The resource operation completed with terminal provisioning state '%s'.", state), nil
	}
	return failed("Canceled", "The resource operation completed with terminal provisioning state '%s'.", state), nil
}

// mayStand reports whether the resource of an operation may be there, though its
// caller was told that it is not.
func (g *Gateway) mayStand(ctx context.Context, x *exchange.Exchange, o inventory.Operation) bool {
	prober, header := g.resolver.ProberFor(x)
	there, err := prober.VerifyAbsence(ctx, header, o.Subscription, o.Resource)
	if err != nil {
		x.Warn("whether the resource of an operation is there was not confirmed", err)
	}
	return there || err != nil
}

// endInAbsence is endIn where there is no resource: one that is being created
// need not show before that is done.
func (g *Gateway) endInAbsence(o inventory.Operation, followed bool) ending {
	switch o.Method {
	case http.MethodDelete:
		return ending{over: true, state: stateSucceeded}
	case http.MethodPut:
		if followed || o.Resource == "" && g.store.Time().Sub(o.Created) < g.config.Index.FollowLimit {
			return ending{state: stateInProgress}
		}
	}
	return failed(stateFailed, "The resource operation has ended, and the resource '%s' does not exist.", o.Origin)
}

// tellStatus answers as the status of an operation (async reference,
// Azure-AsyncOperation Resource format).
func (g *Gateway) tellStatus(w http.ResponseWriter, x *exchange.Exchange, o inventory.Operation, end ending) error {
	type fault struct {
		Code    arm.Code `json:"code"`
		Message string   `json:"message"`
	}
	status := struct {
		ID        string    `json:"id"`
		Name      string    `json:"name"`
		Status    string    `json:"status"`
		StartTime time.Time `json:"startTime"`
		Error     *fault    `json:"error,omitempty"`
	}{
		ID: x.Request.Path.String(), Name: x.Request.Path.Segment(x.Request.Path.Len() - 1),
		Status: end.state, StartTime: o.Created.UTC(),
	}
	if end.fault != nil {
		status.Error = &fault{end.fault.Code, end.fault.Message}
	}
	if !end.over {
		g.polls.PollAgain(w.Header())
	}
	return x.Answer(w, http.StatusOK, status)
}
