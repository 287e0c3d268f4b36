package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"portico/access"
	"portico/arm"
	"portico/config"
	"portico/events"
	adminapi "portico/gateway/admin/api"
	"portico/gateway/admission"
	"portico/gateway/authorize"
	"portico/gateway/chain"
	"portico/gateway/exchange"
	"portico/gateway/explain"
	"portico/gateway/frontdoor"
	"portico/inventory"
	"portico/inventory/engine"
	"portico/locate"
	"portico/routing"
)

// explainTime bounds an explanation: what waits for providers, or for writes that are
// under way, waits for no more.
const explainTime = 30 * time.Second

// answerShown is how much is held of what Portico itself would answer: its errors are
// shorter.
const answerShown = 64 << 10

// Explain says which way a request would take, without sending it. It changes nothing,
// except that answers of providers are recorded if the question allows asking them. The
// error is an *arm.Error where there is no such request, or the store's.
func (g *Gateway) Explain(ctx context.Context, q adminapi.Question) (adminapi.Explanation, error) {
	ctx, cancel := context.WithTimeout(engine.Rehearse(ctx), explainTime)
	defer cancel()
	if fault := checkQuestion(&q); fault != nil {
		return adminapi.Explanation{}, fault
	}
	request := rehearsed{signsIn: q.Token != "", raw: len(q.Raw) > 0, ask: q.Ask, content: q.Content}
	var fault *arm.Error
	if request.raw {
		var unread *adminapi.Explanation
		if request.Request, unread = g.readRaw(ctx, q.Raw); unread != nil {
			return *unread, nil
		}
		q.Method = request.Method
		q.Path, _ = chain.Target(request.Request)
		request.signsIn = q.Principal == ""
	} else {
		g.complete(&q)
		if request.Request, fault = explainedRequest(ctx, q); fault != nil {
			return adminapi.Explanation{}, fault
		}
	}
	if fault := request.addToken(q.Token); fault != nil {
		return adminapi.Explanation{}, fault
	}
	var err error
	if request.who, request.roles, err = g.explainedCaller(ctx, q, request.signsIn); err != nil {
		return adminapi.Explanation{}, err
	}
	return g.explain(request)
}

// checkQuestion refuses a question that gives something twice, or lacks something.
func checkQuestion(q *adminapi.Question) *arm.Error {
	named := q.Principal != "" || q.Tenant != "" || len(q.Groups) > 0
	switch {
	case len(q.Raw) > 0 && (q.Method != "" || q.Path != "" || q.Content != "" || len(q.Header) > 0):
		return arm.NewError(arm.InvalidRequestContent, "the bytes of a request have its method, path, headers and content: the question has no others").About("raw")
	case len(q.Raw) == 0 && q.Path == "":
		return arm.NewError(arm.InvalidRequestContent, "there is no path").About("path")
	case q.Token != "" && named:
		return arm.NewError(arm.InvalidRequestContent, "a token says who calls: the question names no principal, groups and tenant beside it").About("token")
	case len(q.Raw) > 0 && q.Principal == "" && named:
		return arm.NewError(arm.InvalidRequestContent, "groups and a tenant go with a principal").About("principal")
	}
	return nil
}

// rehearsed is a request that is explained, and its assumed caller.
type rehearsed struct {
	*http.Request
	who     access.Principal
	roles   string // what they mean to it, as package adminapi has it
	signsIn bool   // it signs in by its own credentials instead of a named principal
	raw     bool   // it is as a client sent it: its host counts
	ask     bool
	content string // "" also of one whose bytes are given
}

// explain sends a request through the handlers of a gateway that calls no provider.
func (g *Gateway) explain(question rehearsed) (adminapi.Explanation, error) {
	calls := explain.NewCalls(g.upstream)
	rehearsal := g.rehearsal(calls, question.roles == adminapi.RolesSkipped, question.ask)
	walked := explain.Walked{Method: question.Method, Calls: calls, Roles: question.roles, Answer: exchange.CaptureBeginning(answerShown)}
	checks := []chain.Check{rehearsal.rehearseHead(&walked)}
	if question.raw {
		walked.Raw = g.readerInWords()
		checks = append(checks, rehearsal.GuardHost)
	}
	read := func(http.ResponseWriter, *http.Request) (goesOn bool) {
		walked.Read = true
		return true
	}
	checks = append(checks, rehearsal.rehearseSignIn(&walked, question), rehearsal.Classify, read, g.throttle.Explain)
	way := rehearsal.Inner(checks...)
	if question.raw {
		way = exchange.EndAmbiguous(way)
	}
	fault := walked.Answer.Hold(question.RequestURI, func() { way.ServeHTTP(walked.Answer, question.Request) })
	if fault != nil {
		return adminapi.Explanation{}, fault
	}
	if walked.Read {
		var err error
		if walked.Locks, err = g.locksOf(question.Context(), walked.Exchange); err != nil {
			return adminapi.Explanation{}, err
		}
	}
	e := walked.Explanation()
	e.Judges = g.judgesOf(question, &walked, e.Verdict)
	if question.content == "" && !question.raw && walked.Read {
		e.Verdict.Summary = withoutContent(question.Method, e.Verdict)
	}
	return e, nil
}

// withoutContent is the summary of a question that has no content. If the request needs one,
// it says so first: what else is wrong may come of that.
func withoutContent(method string, v adminapi.Verdict) string {
	refused := v.Outcome == adminapi.Refused && v.Status == http.StatusBadRequest
	switch {
	case method != http.MethodPut && method != http.MethodPatch && (method != http.MethodPost || !refused):
		return v.Summary
	case refused:
		return "no content was given (--content FILE gives it), and a request without any is " + v.Summary
	}
	return v.Summary + " No content was given (--content FILE gives it): this is judged of a request without any."
}

// complete adds a method and an api-version to a question that names only a path.
func (g *Gateway) complete(q *adminapi.Question) {
	if q.Method != "" {
		q.Method = strings.ToUpper(q.Method)
		return
	}
	q.Method = http.MethodGet
	if strings.Contains(q.Path, "?") {
		return
	}
	version := "2022-12-01" // Portico's own resources have no versions
	if r, fault := routing.Classify(g.router.Map, q.Method, q.Path, ""); fault == nil && r.Type != nil {
		version = r.Type.APIVersions[0]
	}
	q.Path += "?api-version=" + version
}

// explainedCaller is whom a request is taken to come from, and what roles mean to it.
func (g *Gateway) explainedCaller(ctx context.Context, q adminapi.Question, signsIn bool) (who access.Principal, roles string, err error) {
	for _, id := range append([]string{q.Principal, q.Tenant}, q.Groups...) {
		if id != "" && !arm.ValidGUID(id) {
			return who, "", arm.NewError(arm.InvalidRequestContent, "a principal, its tenant and its groups are GUIDs").About("principal")
		}
	}
	if g.config.Auth.Mode == config.AuthNone {
		if q.Principal != "" {
			return who, "", arm.NewError(arm.InvalidRequestContent, "without authentication there is one caller, and no other principal").About("principal")
		}
		who, _ = g.Authenticator.Authenticate(&http.Request{Header: http.Header{}})
		return who, adminapi.RolesIgnored, nil
	}
	roles = adminapi.RolesEnforced
	if !g.authorizer.Enforced() {
		roles = adminapi.RolesIgnored
	}
	if signsIn {
		return who, roles, nil
	}
	if q.Principal == "" {
		if roles == adminapi.RolesEnforced {
			roles = adminapi.RolesSkipped
		}
		return access.Principal{AnyTenant: q.Tenant == "", TenantID: arm.Fold(q.Tenant)}, roles, nil
	}
	who = g.configuredCaller(q.Principal)
	if len(q.Groups) > 0 {
		who.Groups = access.GroupsOf(q.Groups)
	}
	switch id := routing.SubscriptionOf(q.Path); {
	case q.Tenant != "":
		who.TenantID = arm.Fold(q.Tenant)
	case who.TenantID == "" && arm.ValidGUID(id):
		s, err := g.store.Subscription(ctx, arm.Fold(id))
		if err != nil && !errors.Is(err, inventory.ErrNotFound) {
			return who, "", fmt.Errorf("read a subscription: %w", err)
		}
		who.TenantID = s.TenantID
	}
	return who, roles, nil
}

// configuredCaller is the principal with an object ID, with what the configuration says
// of it.
func (g *Gateway) configuredCaller(object string) access.Principal {
	for _, t := range g.config.Auth.Tokens {
		if arm.EqualFold(t.ObjectID, object) {
			return access.Principal{TenantID: t.TenantID, ObjectID: t.ObjectID, Name: t.Name, AppID: t.AppID}
		}
	}
	for _, p := range g.config.Auth.Certificates.Principals {
		if arm.EqualFold(p.ObjectID, object) {
			return access.Principal{TenantID: p.TenantID, ObjectID: p.ObjectID, Name: p.Name, AppID: p.AppID}
		}
	}
	return access.Principal{ObjectID: arm.Fold(object)}
}

// anAddress is where an explained request comes from: one that no client has.
const anAddress = "192.0.2.1:1"

// explainedRequest is the request of a question. The fault is of one that could not come
// in.
func explainedRequest(ctx context.Context, q adminapi.Question) (*http.Request, *arm.Error) {
	if !strings.HasPrefix(q.Path, "/") || strings.ContainsFunc(q.Path, func(c rune) bool { return c <= ' ' || c == 0x7f }) {
		return nil, arm.NewError(arm.InvalidRequestContent, "a path begins with '/' and has no spaces").About("path")
	}
	header := http.Header{}
	for name, value := range q.Header {
		header.Set(name, value)
	}
	r := &http.Request{
		Method: q.Method, URL: &url.URL{}, RequestURI: q.Path, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: http.NoBody, RemoteAddr: anAddress,
	}
	r.URL.Path, r.URL.RawQuery, _ = strings.Cut(q.Path, "?")
	if n := len(q.Content); n > 0 {
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(q.Content)), int64(n)
		if header.Get("Content-Type") == "" {
			header.Set("Content-Type", "application/json")
		}
	}
	return r.WithContext(ctx), nil
}

// rehearsal returns a gateway whose handlers are those of g and that calls no provider.
// What its requests write is rolled back, if their contexts say so ([engine.Rehearse]);
// they leave nothing in logs, metrics and budgets.
func (g *Gateway) rehearsal(calls *explain.Calls, allowsAll, ask bool) *Gateway {
	r := *g
	r.throttle = nil
	auth := g.config.Auth
	if allowsAll {
		auth.Roles = config.RolesIgnored
	}
	r.authorizer = authorize.New(&auth, g.store.Roles, g.store.Scopes, nil)
	r.admission = &admission.Admission{Store: g.store, Config: g.config, Counts: admission.NewCounts()}
	r.prober.Upstream = calls.For(adminapi.Probe)
	searcher := g.prober
	searcher.Upstream = calls.For(adminapi.Search)
	var finder admission.Finder = locate.NewFinder(searcher, zap.NewNop())
	if ask {
		searcher.Upstream = calls.Asking(adminapi.Search)
		finder = forReal{locate.NewFinder(searcher, g.log)}
	}
	r.resolver = &admission.Resolver{Router: g.router, Finder: finder, Prober: r.prober}
	r.lister = g.lister.ReadingBy(calls.For(adminapi.List))
	forwarding := *g.proxy
	forwarding.Upstream, forwarding.Resolver, forwarding.Admission = calls.For(adminapi.Forward), r.resolver, r.admission
	forwarding.Authorizer, forwarding.Lister, forwarding.Activity, forwarding.Log = r.authorizer, r.lister, nil, zap.NewNop()
	r.proxy = &forwarding
	links := *g.Links
	links.Enforced, links.Spoofed, links.Observe, links.Last = r.authorizer.Enforced(), prometheus.NewCounter(prometheus.CounterOpts{}), nil, r.dispatch
	links.Exchanges = &exchange.Settings{HTTPS: g.Exchanges.HTTPS, MaxContent: g.Exchanges.MaxContent, Memory: g.contentMemory, Log: zap.NewNop()}
	r.Links = &links
	r.batches = r.newBatches(r.newInner())
	r.frontDoor = frontdoor.New(frontdoor.Options{
		Config: g.config, Store: g.store, Router: g.router, Resolver: r.resolver, Admission: r.admission, Authorizer: r.authorizer,
		Polls: g.polls, Lister: r.lister, Batches: r.batches, Preflight: r.newPreflight(), WhatIf: r.newWhatIf(), Deployments: r.newDeployments(), Jobs: asleep{}, Proxy: r.proxy,
	})
	return &r
}

// forReal records what it finds, even for a request that is only explained: the next
// step depends on it.
type forReal struct{ admission.Finder }

func (f forReal) Find(ctx context.Context, caller locate.Caller, sought routing.Sought) error {
	ctx = events.With(engine.ForReal(ctx), &events.Cause{Operator: true})
	return f.Finder.Find(ctx, caller, sought)
}

// asleep are workers that never wake.
type asleep struct{}

func (asleep) Nudge(string) {}

// locksOf are the locks that may forbid a request that was classified.
func (g *Gateway) locksOf(ctx context.Context, x *exchange.Exchange) ([]inventory.Lock, error) {
	if x.Request.Reads() || x.Subscription() == "" || !arm.ValidGUID(x.Subscription()) {
		return nil, nil
	}
	return g.store.LocksHolding(ctx, x.Subscription(), x.Request.Path.String())
}
