package tags

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"time"

	"portico/arm"
	"portico/gateway/admission"
	"portico/gateway/exchange"
	"portico/gateway/frontdoor/route"
	"portico/internal/jsontext"
	"portico/inventory/jobrow"
	"portico/routing"
)

// The tags of a resource are read by GET and changed by PATCH: every provider of a
// tracked type then replaces all of them (resource reference, Patch Resource). Concurrent
// changes take turns, across replicas, so that each starts from the result of the one
// before. If the type has entity tags, If-Match protects against other writes too.

// Sender sends a call to q on behalf of the request x, in the same way as a client's
// call, and returns the answer.
type Sender interface {
	Send(call *http.Request, x *exchange.Exchange, q *routing.Request, content []byte) (*exchange.Captured, error)
}

const (
	leaseTimeout = 10 * time.Second
	leasePause   = 20 * time.Millisecond
	// mostOvertaken is how often a change starts over because somebody else wrote to the
	// resource meanwhile.
	mostOvertaken = 5
)

// resourceTags is the part of a provider's answer about a resource's tags.
type resourceTags struct {
	ID   string
	Tags map[string]string
	etag string
}

// countedMap is a map of strings that is counted before it is decoded.
type countedMap map[string]string

// UnmarshalJSON implements json.Unmarshaler.
func (m *countedMap) UnmarshalJSON(text []byte) error {
	if err := exchange.CheckMap(text, "tags"); err != nil {
		return err
	}
	return json.Unmarshal(text, (*map[string]string)(m))
}

// readResource reads a provider's answer with the resource of a scope.
func readResource(answer *exchange.Captured, s route.Scope) (t resourceTags, err error) {
	var requested struct {
		ID   string     `json:"id"`
		Tags countedMap `json:"tags"`
	}
	if err := json.Unmarshal(jsontext.WithoutMark(answer.Body), &requested); err != nil {
		return t, arm.NewError(arm.InvalidProviderResponse, s.Resource.Provider.Namespace, "it is no resource: "+err.Error())
	}
	t = resourceTags{requested.ID, requested.Tags, answer.Header().Get("ETag")}
	if !arm.EqualFold(t.ID, s.ID) {
		t.ID = s.ID
	}
	return t, nil
}

func (g Tags) getResource(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, s route.Scope) error {
	answer, err := g.callProvider(r, x, s, http.MethodGet, nil, "")
	if err != nil {
		return err
	}
	return respondWith(w, r, x, s, answer)
}

// respondWith answers with the tags in a provider's answer, or with the provider's answer
// if it contains no resource.
func respondWith(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, s route.Scope, answer *exchange.Captured) error {
	if answer.Status != http.StatusOK {
		answer.SendTo(w)
		return nil
	}
	now, err := readResource(answer, s)
	if err != nil {
		return err
	}
	return respond(w, r, x, tagsOf(now.ID, now.Tags))
}

func (g Tags) editResource(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, s route.Scope, e tagEdit) error {
	for range mostOvertaken {
		answer, overtaken, err := g.editUnderLease(r, x, s, e)
		if err != nil {
			return err
		}
		if !overtaken {
			return respondWith(w, r, x, s, answer)
		}
	}
	return admission.Busy(s.ID)
}

// editUnderLease reads and changes the tags of a resource while no other request does. It
// returns the answer to the PATCH, or to the GET if it failed; overtaken reports that
// somebody wrote to the resource in between.
func (g Tags) editUnderLease(r *http.Request, x *exchange.Exchange, s route.Scope, e tagEdit) (answer *exchange.Captured, overtaken bool, err error) {
	turn, err := g.acquireLease(r.Context(), x, s)
	if err != nil {
		return nil, false, err
	}
	defer func() {
		if err := g.Store.Jobs.ReleaseAdvisoryLease(context.WithoutCancel(r.Context()), turn); err != nil {
			x.Warn("could not release the lease on a resource's tags; it expires", err)
		}
	}()
	answer, err = g.callProvider(r, x, s, http.MethodGet, nil, "")
	if err != nil || answer.Status != http.StatusOK {
		return answer, false, err
	}
	now, err := readResource(answer, s)
	if err != nil {
		return nil, false, err
	}
	next, err := e.apply(now.ID, now.Tags)
	if err != nil {
		return nil, false, err
	}
	content, err := json.Marshal(map[string]any{"tags": next})
	if err != nil {
		return nil, false, err
	}
	if !s.Resource.Type.Capabilities.ETags {
		now.etag = ""
	}
	answer, err = g.callProvider(r, x, s, http.MethodPatch, content, now.etag)
	return answer, err == nil && now.etag != "" && answer.Status == http.StatusPreconditionFailed, err
}

// acquireLease waits for the right to change the tags of a resource. The lease lasts as
// long as its two calls can take.
func (g Tags) acquireLease(ctx context.Context, x *exchange.Exchange, s route.Scope) (jobrow.AdvisoryLease, error) {
	ctx, cancel := context.WithTimeout(ctx, leaseTimeout)
	defer cancel()
	hold := 2*g.CallTime + g.CallMargin
	for {
		turn, taken, err := g.Store.Jobs.AcquireAdvisoryLease(ctx, x.Subscription(), s.Key, hold)
		if taken || err != nil && ctx.Err() == nil {
			return turn, err
		}
		select {
		case <-ctx.Done():
			return turn, admission.Busy(s.ID).WithCause(ctx.Err())
		case <-time.After(leasePause/2 + rand.N(leasePause)):
		}
	}
}

// callProvider calls a resource on behalf of a request about its tags.
func (g Tags) callProvider(r *http.Request, x *exchange.Exchange, s route.Scope, method string, content []byte, ifMatch string) (*exchange.Captured, error) {
	q, fault := routing.Classify(g.Scopes.Map, method, arm.PathOf(s.ID), "api-version="+s.Resource.Type.DefaultAPIVersion())
	if fault != nil {
		return nil, fault
	}
	q.Received = x.Request.Received
	sent := r.Clone(r.Context())
	sent.Method = method
	for _, name := range []string{"If-Match", "If-None-Match", "Content-Length", "Content-Type", "Accept-Encoding"} {
		sent.Header.Del(name)
	}
	if content != nil {
		sent.Header.Set("Content-Type", "application/json")
	}
	if ifMatch != "" {
		sent.Header.Set("If-Match", ifMatch)
	}
	return g.Providers.Send(sent, x, q, content)
}
