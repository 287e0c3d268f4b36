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
	// providersVersion is the api-version of the calls to providers.
	providersVersion = "2020-10-01"
	// atOnce bounds the concurrent calls to providers for one validateResources call.
	atOnce = 16
)

// question is a planned resource for its provider to judge.
type question struct {
	*Resource
	Verdict
	unknown unknowns // in the body
}

// mustAsk reports whether to ask the provider: the gateway does not refuse, the resource's
// place is known, its provider judges planned resources of this type, and nothing but
// properties, tags and location is unknown in the body.
func (q *question) mustAsk() bool {
	return q.Fault == nil && !q.Above && q.Decision != nil && q.Decision.Endpoint != nil && q.Request.Type != nil && q.Request.Type.Capabilities.Preflight &&
		!slices.ContainsFunc(q.unknown, func(path string) bool {
			return !inside(path, "properties") && !inside(path, "tags") && path != "location"
		})
}

// ProviderFault returns why the provider refuses a planned resource, given the gateway's
// verdict on its PUT. It returns nil if the provider does not refuse, or is not asked.
func (p *Preflight) ProviderFault(r *http.Request, x *exchange.Exchange, planned *Resource, v Verdict) *arm.Error {
	var unknown unknowns
	unknown.strip(planned.Body, "", 0)
	return p.askProviders(r, x, []question{{planned, v, unknown}})[0]
}

// askProviders asks the providers concurrently and returns a fault per question, nil if the
// provider does not refuse. A provider that does not answer in time, or answers anything but
// a clear refusal, does not refuse.
func (p *Preflight) askProviders(r *http.Request, x *exchange.Exchange, questions []question) []*arm.Error {
	ctx, cancel := context.WithTimeout(r.Context(), p.Timeout)
	defer cancel()
	faults := make([]*arm.Error, len(questions))
	bound := min(arm.ErrorBytes, answers.DetailBytes/max(1, len(questions))) // all faults of one call are in memory together
	var running sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for i := range questions {
		if !questions[i].mustAsk() {
			continue
		}
		slots <- struct{}{} // ctx bounds the earlier calls, and so this wait
		running.Go(func() {
			faults[i] = p.askProvider(ctx, r, x, &questions[i]).Within(bound)
			<-slots
		})
	}
	running.Wait()
	return faults
}

// askProvider asks the provider of one resource.
func (p *Preflight) askProvider(ctx context.Context, r *http.Request, x *exchange.Exchange, q *question) *arm.Error {
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
	caller.Identity.Client = "" // it is among the client's headers, which are passed on
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

// refusalIn returns the error in a provider's clear refusal, or nil.
func refusalIn(text []byte) *arm.Error {
	var answer struct {
		Status string     `json:"status"`
		Error  *arm.Error `json:"error"`
	}
	if json.Unmarshal(text, &answer) == nil && strings.EqualFold(answer.Status, "Failed") && answer.Error != nil && answer.Error.Code != "" {
		return answer.Error
	}
	return nil
}

// content returns the body of the call to the provider: the resource with its location.
func (q *question) content() []byte {
	location := arm.Location(q.Location)
	if location == "" || schema.UnknownText(location) {
		location = q.Decision.Location
	}
	var all []member
	for _, m := range [...]struct{ name, value string }{
		{"name", q.Name}, {"type", q.Request.Type.FullName}, {"location", location}, {"apiVersion", q.APIVersion},
	} {
		value, _ := json.Marshal(m.value) // marshaling a string does not fail
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
