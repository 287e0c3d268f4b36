package gateway

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"time"

	"portico/arm"
	"portico/gateway/admission"
	"portico/gateway/exchange"
	"portico/inventory"
	"portico/routing"
)

// The tags of a resource are its provider's: they are read by GET and changed by
// PATCH, with which every provider of a tracked type replaces them whole
// (resource reference, Patch Resource). Changes that come together take turns,
// over all replicas, so that each starts from what the one before it left; where
// the type has entity tags, If-Match keeps what others write from being lost too.

const (
	turnPatience = 10 * time.Second
	turnPause    = 20 * time.Millisecond
	// mostOvertaken is how often a change begins anew because somebody else
	// wrote to the resource meanwhile.
	mostOvertaken = 5
)

// resourceTags is what an answer of a provider shows of a resource's tags.
type resourceTags struct {
	ID   string
	Tags map[string]string
	etag string
}

// countedMap is a map of texts that is counted before it is read.
type countedMap map[string]string

// UnmarshalJSON implements json.Unmarshaler.
func (m *countedMap) UnmarshalJSON(text []byte) error {
	if err := exchange.CheckMap(text, "tags"); err != nil {
		return err
	}
	return json.Unmarshal(text, (*map[string]string)(m))
}

// read reads it from a 200; on names the resource where the answer does not.
func (t *resourceTags) read(answer *exchange.Captured, s scope) error {
	var told struct {
		ID   string     `json:"id"`
		Tags countedMap `json:"tags"`
	}
	if err := json.Unmarshal(answer.Body, &told); err != nil {
		return arm.NewError(arm.InvalidProviderResponse, s.on.Provider.Namespace, "it is no resource: "+err.Error())
	}
	t.ID, t.Tags = told.ID, told.Tags
	if !arm.EqualFold(t.ID, s.id) {
		t.ID = s.id
	}
	t.etag = answer.Header().Get("ETag")
	return nil
}

func (g *Gateway) getResourceTags(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, s scope) error {
	answer, err := g.onResource(r, x, s, http.MethodGet, nil, "")
	if err != nil {
		return err
	}
	if answer.Status != http.StatusOK {
		answer.SendTo(w)
		return nil
	}
	var now resourceTags
	if err := now.read(answer, s); err != nil {
		return err
	}
	return g.answerTags(w, r, x, tagsOf(now.ID, now.Tags))
}

func (g *Gateway) editResourceTags(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, s scope, e tagEdit) error {
	for range mostOvertaken {
		answer, overtaken, err := g.retagInTurn(r, x, s, e)
		if err != nil {
			return err
		}
		if answer.Status == http.StatusOK {
			var now resourceTags
			if err := now.read(answer, s); err != nil {
				return err
			}
			return g.answerTags(w, r, x, tagsOf(now.ID, now.Tags))
		}
		if !overtaken {
			answer.SendTo(w)
			return nil
		}
	}
	return admission.Busy(s.id)
}

// retagInTurn reads and changes the tags of a resource while nobody else does.
// It returns the answer to the PATCH, or to the GET where that is no resource;
// overtaken tells that somebody else wrote to the resource in between.
func (g *Gateway) retagInTurn(r *http.Request, x *exchange.Exchange, s scope, e tagEdit) (answer *exchange.Captured, overtaken bool, err error) {
	turn, err := g.turn(r.Context(), x, s)
	if err != nil {
		return nil, false, err
	}
	defer func() {
		if err := g.store.EndTurn(context.WithoutCancel(r.Context()), turn); err != nil {
			x.Warn("a turn was not given back; it ends by time", err)
		}
	}()
	answer, err = g.onResource(r, x, s, http.MethodGet, nil, "")
	if err != nil || answer.Status != http.StatusOK {
		return answer, false, err
	}
	var now resourceTags
	if err := now.read(answer, s); err != nil {
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
	if !s.on.Type.Capabilities.ETags {
		now.etag = ""
	}
	answer, err = g.onResource(r, x, s, http.MethodPatch, content, now.etag)
	return answer, err == nil && now.etag != "" && answer.Status == http.StatusPreconditionFailed, err
}

// turn waits for the turn to change the tags of a resource. It is held for as
// long as its two calls can take.
func (g *Gateway) turn(ctx context.Context, x *exchange.Exchange, s scope) (inventory.Turn, error) {
	ctx, cancel := context.WithTimeout(ctx, turnPatience)
	defer cancel()
	hold := 2*g.config.Upstream.CallTimeout + g.config.Index.CallMargin
	for {
		turn, taken, err := g.store.TakeTurn(ctx, x.Subscription(), s.key, hold)
		if taken || err != nil && ctx.Err() == nil {
			return turn, err
		}
		select {
		case <-ctx.Done():
			return turn, admission.Busy(s.id).Because(ctx.Err())
		case <-time.After(turnPause/2 + rand.N(turnPause)):
		}
	}
}

// onResource sends a call to a resource on behalf of a request about something
// that belongs to it, by the whole way that the client's own call would take.
func (g *Gateway) onResource(r *http.Request, x *exchange.Exchange, s scope, method string, content []byte, ifMatch string) (*exchange.Captured, error) {
	q, fault := routing.Classify(g.router.Map, method, arm.PathOf(s.id), "api-version="+defaultVersion(s.on.Type.APIVersions))
	if fault != nil {
		return nil, fault
	}
	call := r.Clone(r.Context())
	call.Method = method
	for _, name := range []string{"If-Match", "If-None-Match", "Content-Length", "Content-Type", "Accept-Encoding"} {
		call.Header.Del(name)
	}
	if content != nil {
		call.Header.Set("Content-Type", "application/json")
	}
	if ifMatch != "" {
		call.Header.Set("If-Match", ifMatch)
	}
	return g.proxy.Send(call, x, q, content)
}
