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
	"portico/gateway/throttle"
	"portico/inventory"
	"portico/inventory/engine"
	"portico/probe"
	"portico/routing"
	"portico/tracing/spans"
)

// ports are what the answer to a request depends on besides the configuration. Those of the
// service are the world ([longLived.world]); those of a request that is only explained, or
// planned and judged, call no provider, change nothing and count nothing ([answering.recording]).
type ports struct {
	// Who calls providers.
	forward proxy.Upstream
	prober  probe.Prober
	finder  admission.Finder
	lister  *fanout.Lister
	// What is seen of the store, and how it is written to.
	index   routing.Index
	scopes  routing.Scopes // nil: nothing is remembered
	intents proxy.Intents
	nesting deployments.Nesting
	// readLock reads a lock that was put; nil: none is written.
	readLock func(ctx context.Context, subscription, scope, name string) (inventory.Lock, error)
	around   chain.Middleware // of what answers
	// Who is let in, and may do what.
	authenticator access.Authenticator
	authorizer    *authorize.Authorizer
	throttle      *throttle.Throttle
	counts        *admission.Counts
	// What is counted and noted.
	spoofed  prometheus.Counter
	activity *observe.Activity
	observe  chain.Middleware
	tracer   *spans.Tracer
	log      *zap.Logger
	// Who works on jobs, and who may wait for their ends.
	jobs  polling.Jobs
	waits *polling.Waits
	// newest answers the requests of batches and deployments, whichever began them.
	newest *atomic.Pointer[answering]
}

// answering is what answers requests by one configuration, through its ports.
type answering struct {
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

// build assembles what answers requests, from now on also those of batches and deployments that
// go by the same newest. Nothing else assembles it.
func (l *longLived) build(c *config.Config, p ports) *answering {
	public := c.Server.PublicURL
	a := &answering{longLived: l, config: c, ports: p}
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
		Map: c.Map, Store: l.store, Rehearse: a.rehearsePlan, Charge: p.throttle.ChargeReads,
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

func (a *answering) deployments(admits *admission.Admission, polls *polling.Operations) deployments.Deployments {
	c := a.config
	return deployments.Deployments{
		Orders: a.orders(), Judge: a.preflight.GatewayFaults,
		Store: a.store, Nesting: a.ports.nesting, Admission: admits, Polls: polls, Lists: route.Lists{Lister: a.ports.lister, Public: c.Server.PublicURL},
		History: c.Deployments.History, Running: c.Deployments.Running, ShareOf: c.Limits.ShareOf, Limit: c.Deployments.Limit,
	}
}

// whatIf returns the handlers of validate and what-if. Their reads are their caller's, as those
// of a batch are.
func (a *answering) whatIf() deployments.WhatIf {
	return deployments.WhatIf{
		Orders: a.orders(), Judge: a.preflight.Faults, Get: a.batches.Get,
		Deployed: a.store.Deployments.Deployed, Reading: a.config.Upstream.CallTimeout,
		Memory: a.batchMemory, MemoryLimit: a.config.Batch.Memory,
	}
}

func (a *answering) orders() deployments.Orders {
	c := a.config
	return deployments.Orders{
		Caller: batch.OrderCaller, May: a.ports.authorizer.MayStill, Locations: deployments.Locations{Map: c.Map, Store: a.store},
		Environment: frontdoor.TemplateEnvironment(c.Metadata, c.Server.PublicURL),
	}
}

// dispatch answers a classified request.
func (a *answering) dispatch(w http.ResponseWriter, r *http.Request) {
	x := exchange.From(r)
	if x.Request.Class == routing.Own {
		a.frontDoor.ServeHTTP(w, r)
		return
	}
	if err := a.proxy.Answer(w, r, x); err != nil {
		exchange.Fail(w, r, err)
	}
}

// recording returns ports that note calls instead of making them, and change and count
// nothing. If it asks, searches are made after all. allowsAll: no role is needed.
func (a *answering) recording(calls *explain.Calls, allowsAll, asks bool) ports {
	p, auth := a.ports, a.config.Auth
	if allowsAll {
		auth.Roles = config.RolesIgnored
	}
	prober, searcher := p.prober, p.prober
	prober.Upstream, searcher.Upstream = calls.For(adminapi.Probe), calls.For(adminapi.Search)
	var finder admission.Finder = probe.NewFinder(searcher, zap.NewNop())
	if asks {
		searcher.Upstream = calls.ForReal(adminapi.Search)
		finder = forReal{probe.NewFinder(searcher, a.log)}
	}
	return ports{
		forward: calls.For(adminapi.Forward), prober: prober, finder: finder, lister: p.lister.ReadingBy(calls.For(adminapi.List)),
		index: p.index, scopes: p.scopes, intents: p.intents, nesting: deployments.Tries{Deployments: a.store.Deployments}, around: rollBack,
		authenticator: letsIn{p.authenticator}, authorizer: authorize.New(&auth, a.store.Roles, a.store.Scopes, nil),
		counts: admission.NewCounts(), spoofed: prometheus.NewCounter(prometheus.CounterOpts{}), log: zap.NewNop(),
		jobs: asleep{}, newest: new(atomic.Pointer[answering]),
	}
}

// rehearse returns the links of a chain that calls no provider; see [explain.Explainer].
func (a *answering) rehearse(calls *explain.Calls, allowsAll, asks bool) *chain.Links {
	return a.build(a.config, a.recording(calls, allowsAll, asks)).Links
}

// rehearsePlan returns what rehearses the PUTs of a plan.
func (a *answering) rehearsePlan(plan *preflight.Plan, withoutWrite bool) preflight.Rehearsal {
	calls := explain.NewCalls(a.upstream)
	p := a.recording(calls, withoutWrite, false)
	p.index, p.scopes, p.intents = plan.Overlay(p.index), nil, plan.Intents(a.store)
	r := preflight.Rehearsal{Links: a.build(a.config, p).Links, Calls: calls.TakeOutcome}
	if withoutWrite {
		r.Reading = authorize.New(&a.config.Auth, a.store.Roles, a.store.Scopes, nil)
	}
	return r
}

// rollBack has each write of a request rolled back.
func rollBack(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(engine.Rehearse(r.Context())))
	})
}

// forReal records what it finds, even for a request that is only explained: the next
// step depends on it.
type forReal struct{ admission.Finder }

func (f forReal) Find(ctx context.Context, caller probe.Caller, sought routing.Sought) error {
	ctx = events.With(engine.ForReal(ctx), &events.Cause{Operator: true})
	return f.Finder.Find(ctx, caller, sought)
}

// letsIn takes every caller for one that is still known: one that an operator asks about need
// not have signed in.
type letsIn struct{ access.Authenticator }

func (letsIn) Valid(access.Principal) bool { return true }

// asleep are workers that never wake.
type asleep struct{}

func (asleep) Nudge(string) {}

func (asleep) WatchEnd([16]byte) (ended <-chan struct{}, stop func()) { return nil, func() {} }
