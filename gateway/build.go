package gateway

import (
	"context"
	"net/http"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"portico/access"
	"portico/config"
	"portico/events"
	"portico/fanout"
	adminapi "portico/gateway/admin/api"
	"portico/gateway/admission"
	"portico/gateway/authorize"
	"portico/gateway/batch"
	"portico/gateway/chain"
	"portico/gateway/exchange"
	"portico/gateway/explain"
	"portico/gateway/frontdoor"
	"portico/gateway/frontdoor/deployments"
	"portico/gateway/frontdoor/route"
	"portico/gateway/observe"
	"portico/gateway/polling"
	"portico/gateway/preflight"
	"portico/gateway/proxy"
	"portico/inventory"
	"portico/inventory/engine"
	"portico/probe"
	"portico/routing"
	"portico/tracing/spans"
)

// ports are the dependencies of request handling besides the configuration. The service has
// real ones ([longLived.servicePorts]). Requests that are only explained or judged have
// recording ones, which call no provider, change nothing and count nothing
// ([assembly.recording]).
type ports struct {
	// Calls to providers.
	forward proxy.Upstream
	prober  probe.Prober
	finder  admission.Finder
	lister  *fanout.Lister
	// Access to the store.
	index   routing.Index
	scopes  routing.Scopes // nil disables the cache
	intents proxy.Intents
	nesting deployments.Nesting
	// readLock reads a lock that was put; nil if locks are not written.
	readLock func(ctx context.Context, subscription, scope, name string) (inventory.Lock, error)
	around   chain.Middleware // around the last handler
	// Authentication, roles and limits.
	authenticator access.Authenticator
	authorizer    *authorize.Authorizer
	throttle      *chain.Throttle
	counts        *admission.Counts
	// Metrics, logs and traces.
	spoofed  prometheus.Counter
	activity *observe.Activity
	observe  chain.Middleware
	tracer   *spans.Tracer
	log      *zap.Logger
	// Jobs, and the requests that wait for their ends.
	jobs  polling.Jobs
	waits *polling.Waits
	// newest handles the requests of batches and deployments, even those started under an
	// earlier configuration.
	newest *atomic.Pointer[assembly]
}

// assembly holds the handlers of requests for one configuration and set of ports.
type assembly struct {
	*longLived
	*chain.Links
	config    *config.Config
	ports     ports
	router    *routing.Router
	proxy     *proxy.Proxy
	batches   *batch.Batches
	preflight *preflight.Preflight
	frontDoor http.Handler
	inner     http.Handler // the chain of requests in batches and of deployments
}

// build assembles the handlers of requests and stores them in p.newest, so that they also handle
// the requests of batches and deployments from now on. Nothing else assembles handlers.
func (l *longLived) build(c *config.Config, p ports) *assembly {
	public := c.Server.PublicURL
	a := &assembly{longLived: l, config: c, ports: p}
	a.router = &routing.Router{Map: c.Map, Index: p.index, Scopes: p.scopes}
	resolver := &admission.Resolver{Router: a.router, Finder: p.finder, Prober: p.prober}
	admits := &admission.Admission{Store: l.store, Config: c, Counts: p.counts}
	polls := &polling.Operations{Store: l.store, Public: public, Settings: &c.Operations, Jobs: p.jobs, Waits: p.waits}
	a.proxy = &proxy.Proxy{
		Config: c, Public: public, Store: l.store, Intents: p.intents, Upstream: p.forward,
		Resolver: resolver, Admission: admits, Authorizer: p.authorizer, Lister: p.lister,
		Polls:    &polling.Forwarded{Operations: polls, Config: c, Resolver: resolver, Admission: admits, Log: p.log},
		Activity: p.activity, Sender: l.sender, Tracer: p.tracer, Log: p.log,
	}
	a.Links = &chain.Links{
		Config: c, Authenticator: p.authenticator, Enforced: p.authorizer.Enforced(), Hosts: chain.NewHosts(public, c.Server.Listen),
		Exchanges: &exchange.Settings{
			HTTPS: public.Scheme == "https", MaxContent: c.Limits.RequestBody, Memory: l.contentMemory, Log: p.log, Refused: p.activity.Refused,
		},
		Observe: p.observe, Spoofed: p.spoofed, Tracer: p.tracer, Panics: l.log, Last: chain.Of(http.HandlerFunc(a.dispatch), p.around),
	}
	a.inner = a.Inner(batch.Identify(a.Links), a.Classify, p.throttle.Limit)
	a.batches = batch.New(batch.Options{
		Config: c, Store: l.store, Memory: l.batchMemory, Hosts: a.Hosts, Polls: polls,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.newest.Load().inner.ServeHTTP(w, r) }),
	})
	a.preflight = preflight.New(preflight.Options{
		Map: c.Map, Locks: l.store.Locks, Rehearse: a.rehearsePlan, Charge: p.throttle.ChargeReads,
		Upstream: p.forward, Public: public, Timeout: c.Preflight.Timeout,
	})
	a.frontDoor = frontdoor.New(frontdoor.Options{
		Config: c, Store: l.store, Resolver: resolver, Admission: admits, Authorizer: p.authorizer,
		Polls: polls, Lister: p.lister, Jobs: p.jobs, Proxy: a.proxy, ReadLock: p.readLock,
		Batches: a.batches, Preflight: a.preflight, WhatIf: a.whatIf(), Deployments: a.deployments(admits, polls),
	})
	p.newest.Store(a)
	return a
}

func (a *assembly) deployments(admits *admission.Admission, polls *polling.Operations) deployments.Deployments {
	c := a.config
	return deployments.Deployments{
		Orders: a.orders(), Judge: a.preflight.GatewayFaults,
		Store: a.store, Nesting: a.ports.nesting, Admission: admits, Polls: polls, Lists: route.Lists{Lister: a.ports.lister, Public: c.Server.PublicURL},
		History: c.Deployments.History, Running: c.Deployments.Running, ShareOf: c.Limits.ShareOf, Limit: c.Deployments.Limit,
	}
}

// whatIf returns the handlers of validate and what-if. They read resources on behalf of their
// caller, as batches do.
func (a *assembly) whatIf() deployments.WhatIf {
	return deployments.WhatIf{
		Orders: a.orders(), Judge: a.preflight.Faults, Get: a.batches.Get,
		Deployed: a.store.Deployments.Deployed, Reading: a.config.Upstream.CallTimeout,
		Memory: a.batchMemory, MemoryLimit: a.config.Batch.Memory,
	}
}

func (a *assembly) orders() deployments.Orders {
	c := a.config
	return deployments.Orders{
		Caller: batch.OrderCaller, May: a.ports.authorizer.CheckPrincipal, Locations: deployments.Locations{Map: c.Map, Store: a.store},
		Environment: frontdoor.TemplateEnvironment(c.Metadata, c.Server.PublicURL),
	}
}

// dispatch handles a classified request.
func (a *assembly) dispatch(w http.ResponseWriter, r *http.Request) {
	x := exchange.From(r)
	if x.Request.Class == routing.Own {
		a.frontDoor.ServeHTTP(w, r)
		return
	}
	if err := a.proxy.Answer(w, r, x); err != nil {
		exchange.Fail(w, r, err)
	}
}

// recording returns ports that record calls instead of making them, and change and count
// nothing. If askProviders is set, searches are made for real. If allowsAll is set, no roles are
// checked.
func (a *assembly) recording(calls *explain.Calls, allowsAll, askProviders bool) ports {
	p, auth := a.ports, a.config.Auth
	if allowsAll {
		auth.Roles = config.RolesIgnored
	}
	prober, searcher := p.prober, p.prober
	prober.Upstream, searcher.Upstream = calls.For(adminapi.Probe), calls.For(adminapi.Search)
	var finder admission.Finder = probe.NewFinder(searcher, zap.NewNop())
	if askProviders {
		searcher.Upstream = calls.ForReal(adminapi.Search)
		finder = forReal{probe.NewFinder(searcher, a.log)}
	}
	return ports{
		forward: calls.For(adminapi.Forward), prober: prober, finder: finder, lister: p.lister.ReadingBy(calls.For(adminapi.List)),
		index: p.index, scopes: p.scopes, intents: p.intents, nesting: deployments.DryRunNesting{Deployments: a.store.Deployments}, around: rollBack,
		authenticator: acceptsAll{p.authenticator}, authorizer: authorize.New(&auth, a.store.Roles, a.store.Scopes, nil),
		counts: admission.NewCounts(), spoofed: prometheus.NewCounter(prometheus.CounterOpts{}), log: zap.NewNop(),
		jobs: noJobs{}, newest: new(atomic.Pointer[assembly]),
	}
}

// rehearse returns the links of a chain that calls no provider; see [explain.Explainer].
func (a *assembly) rehearse(calls *explain.Calls, allowsAll, askProviders bool) *chain.Links {
	return a.build(a.config, a.recording(calls, allowsAll, askProviders)).Links
}

// rehearsePlan returns the handlers for judging the PUTs of a plan.
func (a *assembly) rehearsePlan(plan *preflight.PlannedResources, withoutWrite bool) preflight.Rehearsal {
	calls := explain.NewCalls(a.upstream)
	p := a.recording(calls, withoutWrite, false)
	p.index, p.scopes, p.intents = plan.Overlay(p.index), nil, plan.Intents(a.store)
	r := preflight.Rehearsal{Links: a.build(a.config, p).Links, Calls: calls.TakeOutcome}
	if withoutWrite {
		r.Reading = authorize.New(&a.config.Auth, a.store.Roles, a.store.Scopes, nil)
	}
	return r
}

// rollBack makes the store roll back each write of a request.
func rollBack(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(engine.Rehearse(r.Context())))
	})
}

// forReal records the findings of its searches even for a request that is only explained: the
// next step depends on them.
type forReal struct{ admission.Finder }

func (f forReal) Find(ctx context.Context, caller probe.Caller, sought routing.SearchedResource) error {
	ctx = events.With(engine.ForReal(ctx), &events.Cause{Operator: true})
	return f.Finder.Find(ctx, caller, sought)
}

// acceptsAll treats every principal as valid: the principal of an operator's question need not
// have signed in.
type acceptsAll struct{ access.Authenticator }

func (acceptsAll) Valid(access.Principal) bool { return true }

// noJobs nudges no worker and reports the end of no job.
type noJobs struct{}

func (noJobs) Nudge(string) {}

func (noJobs) WatchEnd([16]byte) (ended <-chan struct{}, stop func()) { return nil, func() {} }
