package preflight

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"portico/arm"
	"portico/gateway/admission"
	"portico/gateway/exchange"
	"portico/internal/jsontext"
	"portico/internal/schema"
	"portico/tracing/headers"
	"portico/upstream"
	"portico/upstream/answers"
)

const (
	// providersVersion is the api-version of what providers are asked.
	providersVersion = "2020-10-01"
	// atOnce is how many providers one call asks at a time.
	atOnce = 16
)

// question is a planned resource that its provider has to judge.
type question struct {
	*Resource
	Verdict
	unknown unknowns // of the body
}

// needed reports whether the provider is to be asked: the gateway does not refuse, the
// resource's place is known, and a provider that judges planned resources of this kind, of
// which it can read all but the properties.
func (q *question) needed() bool {
	return q.Fault == nil && !q.Above && q.Decision != nil && q.Decision.Endpoint != nil && q.Request.Type != nil && q.Request.Type.Capabilities.Preflight &&
		!slices.ContainsFunc(q.unknown, func(path string) bool {
			return !inside(path, "properties") && !inside(path, "tags") && path != "location"
		})
}

// Ask returns why the provider refuses a planned resource, on whose PUT the gateway's word
// is v; nil: it does not, or does not judge plans.
func (p *Preflight) Ask(r *http.Request, x *exchange.Exchange, planned *Resource, v Verdict) *arm.Error {
	var unknown unknowns
	unknown.within(planned.Body, "", 0)
	return p.askAll(r, x, []question{{planned, v, unknown}})[0]
}

// askAll asks the providers, side by side, and returns the fault of each question; nil:
// its provider does not refuse. A provider that does not answer in time, or says anything
// but a clear no, does not.
func (p *Preflight) askAll(r *http.Request, x *exchange.Exchange, questions []question) []*arm.Error {
	ctx, cancel := context.WithTimeout(r.Context(), p.Timeout)
	defer cancel()
	faults := make([]*arm.Error, len(questions))
	bound := min(arm.ErrorBytes, answers.DetailBytes/max(1, len(questions))) // as those of one call are held together
	var under sync.WaitGroup
	places := make(chan struct{}, atOnce)
	for i := range questions {
		if !questions[i].needed() {
			continue
		}
		places <- struct{}{} // a later call waits no longer than an earlier one may take
		under.Go(func() {
			faults[i] = p.ask(ctx, r, x, &questions[i]).Within(bound)
			<-places
		})
	}
	under.Wait()
	return faults
}

// ask asks the provider of one resource.
func (p *Preflight) ask(ctx context.Context, r *http.Request, x *exchange.Exchange, q *question) *arm.Error {
	path := "/subscriptions/" + q.Request.Path.Subscription()
	if group := q.Request.Path.Group(); group != "" {
		path += "/resourceGroups/" + group
	}
	provider := q.Request.Provider
	path = arm.PathOf(path + "/providers/" + provider.Namespace + "/deployments/" + uuid.NewString() + "/preflight")
	query := "api-version=" + providersVersion
	header := headers.ToProvider(r.Header, provider.PassesRequest())
	delete(header, "Accept-Encoding")
	own := headers.Stamps()
	caller := admission.CallerOf(x)
	caller.Identity.Client = "" // it passes with the client's other headers
	stamps := caller.Stamps(q.Decision.Subscription.TenantID, p.Public, answers.Referer(p.Public, path, query))
	stamps.Set(&own)
	answer, err := p.Upstream.Do(ctx, upstream.Call{
		Endpoint: q.Decision.Endpoint, Method: http.MethodPost, Path: path, Query: query,
		Header: header, Own: own, Content: q.content(), Caller: caller.Share, Provider: provider.Namespace,
	})
	if err != nil {
		return nil
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil
	}
	text, err := upstream.ReadAll(answer.Header, answer.Body, arm.MaxFaultBody)
	if err != nil {
		return nil
	}
	return refusalIn(text)
}

// refusalIn is the error of a clear no.
func refusalIn(text []byte) *arm.Error {
	var said struct {
		Status string     `json:"status"`
		Error  *arm.Error `json:"error"`
	}
	if json.Unmarshal(text, &said) == nil && strings.EqualFold(said.Status, "Failed") && said.Error != nil && said.Error.Code != "" {
		return said.Error
	}
	return nil
}

// content is what the provider is asked: the resource with its place and its body.
func (q *question) content() []byte {
	location := arm.Location(q.Location)
	if location == "" || schema.UnknownText(location) {
		location = q.Decision.Location
	}
	var all []member
	for _, m := range [...]struct{ name, value string }{
		{"name", q.Name}, {"type", q.Request.Type.FullName}, {"location", location}, {"apiVersion", q.APIVersion},
	} {
		value, _ := json.Marshal(m.value) // a string can be written
		all = append(all, member{m.name, value})
	}
	_ = jsontext.Object(q.Body, func(m jsontext.Member) error {
		switch key := string(m.Key); {
		case key == "name", key == "type", key == "location", key == "apiVersion", key == "tags" && schema.Unknown(m.Value):
		default:
			all = append(all, member{string(m.Key), m.Value})
		}
		return nil
	})
	list := append([]byte{'['}, objectOf(all...)...)
	return objectOf(member{"resources", append(list, ']')})
}
