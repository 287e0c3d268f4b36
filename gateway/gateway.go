package gateway

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"portico/access"
	"portico/config"
	"portico/fanout"
	"portico/gateway/admin"
	"portico/gateway/admin/console"
	"portico/gateway/admission"
	"portico/gateway/authorize"
	"portico/gateway/batch"
	"portico/gateway/chain"
	"portico/gateway/compression"
	"portico/gateway/exchange"
	"portico/gateway/frontdoor"
	"portico/gateway/observe"
	"portico/gateway/polling"
	"portico/gateway/proxy"
	"portico/gateway/throttle"
	"portico/internal/logs"
	"portico/internal/meter"
	"portico/inventory"
	"portico/inventory/memory"
	"portico/inventory/operations"
	"portico/jobs"
	"portico/limits"
	"portico/locate"
	"portico/operations/notify"
	"portico/operations/sweep"
	"portico/operations/webhook"
	"portico/routing"
	"portico/tracing/spans"
	"portico/upstream"
)

// Options are what a gateway is made of. The caller owns the parts and closes
// them after the listeners have ended.
type Options struct {
	Config        *config.Config
	Store         *inventory.Store
	Upstream      *upstream.Client
	Authenticator access.Authenticator
	Log           *zap.Logger
	// Access and Audit take the lines of these logs; nil for where Log's go.
	Access, Audit *zap.Logger
	// Metrics may be nil: requests are not measured then.
	Metrics Registry
	// Keys seal and open skip tokens; nil for a key of the gateway's own, whose
	// tokens no other gateway can open.
	Keys *fanout.Keys
	// Sinks are those of the configuration, with what their files hold.
	Sinks []*webhook.Sink
	// Tracer records traces; nil for none.
	Tracer *spans.Tracer
	// Reload reads the configuration again when the admin listener calls it; nil where
	// that is not possible.
	Reload func(context.Context) (admin.Reloaded, error)
	// Generations are the configurations that there were; nil: they are not kept.
	Generations *config.History
}

// Registry takes the gateway's metrics and shows them on the admin listener.
type Registry interface {
	prometheus.Registerer
	prometheus.Gatherer
}

// Gateway answers the requests of both listeners, by one configuration from its
// beginning to its end; see [Gateway.Succeed]. It is safe for concurrent use and
// holds no goroutines of its own.
type Gateway struct {
	longLived
	*chain.Links
	config     *config.Config
	public     *url.URL
	router     *routing.Router
	resolver   *admission.Resolver
	prober     locate.Prober
	admission  *admission.Admission
	authorizer *authorize.Authorizer
	lister     *fanout.Lister
	proxy      *proxy.Proxy
	polls      *polling.Operations
	batches    *batch.Batches
	batched    http.Handler // answers the requests of batches and of deployments
	sweeper    *sweep.Sweeper
	webhooks   *webhook.Deliverer
	throttle   *throttle.Throttle
	frontDoor  http.Handler
}

// longLived is what outlives a configuration.
type longLived struct {
	store    *inventory.Store
	upstream *upstream.Client
	log      *zap.Logger
	access   *zap.Logger
	audit    observe.Audit
	metrics  *observe.Metrics
	recent   *observe.Recent
	names    *observe.Names
	traffic  *observe.Traffic
	// authorizations count what callers may and may not do.
	authorizations *authorize.Metrics
	registry       Registry
	tracer         *spans.Tracer
	sender         string // also the owner of the jobs that it works on
	runner         *jobs.Runner
	reload         func(context.Context) (admin.Reloaded, error)
	generations    *config.History
	sessions       *console.Sessions
	attempts       *console.Attempts
	batchMemory    *limits.Memory // for the answers of batches, what-ifs and deployments
	contentMemory  *limits.Memory // for the contents of requests
	counts         *admission.Counts
	levels         *limits.BucketLevels
	throttled      *limits.ThrottleMetrics
	activity       *observe.Activity
	started        time.Time
	draining       *atomic.Bool
	waits          *polling.Waits
	// newest is the gateway of the configuration that is in use now, by which calls of
	// durable work go that an earlier one began.
	newest *atomic.Pointer[Gateway]
	// adminTokens are those of the configuration that is in use now, for requests that
	// last longer than the one that they began under.
	adminTokens *atomic.Pointer[[]config.AdminToken]
}

// New assembles a gateway.
func New(o Options) *Gateway {
	if o.Keys == nil {
		o.Keys = fanout.NewRandomKeys()
	}
	if o.Access == nil {
		o.Access = o.Log.Named(logs.AccessName)
	}
	if o.Audit == nil {
		o.Audit = logs.Audit(o.Log)
	}
	measures := o.Metrics != nil
	if !measures {
		o.Metrics = prometheus.NewRegistry() // nothing reads it
	}
	memory := func(m meter.Memory, bytes int64) *limits.Memory {
		return m.New(o.Metrics, bytes, o.Config.Limits.ShareOf(bytes))
	}
	g := &Gateway{longLived: longLived{
		store:    o.Store,
		upstream: o.Upstream,
		log:      o.Log,
		access:   o.Access,
		audit:    observe.NewAudit(o.Audit),
		metrics:  observe.NewMetrics(o.Metrics, measures),

		authorizations: authorize.NewMetrics(o.Metrics),
		registry:       o.Metrics,
		tracer:         o.Tracer,
		sender:         jobs.NewOwner(),
		reload:         o.Reload,
		generations:    cmp.Or(o.Generations, new(config.History)),
		sessions:       console.NewSessions(time.Now),
		attempts:       new(console.Attempts),
		batchMemory:    memory(meter.Memory{Setting: "batch.totalMemory", Metric: "portico_batch", Holds: "answers in batches, what-ifs and deployments"}, o.Config.Batch.TotalMemory),
		contentMemory:  memory(meter.Memory{Setting: "limits.contentMemory", Metric: "portico_content", Holds: "contents of requests"}, o.Config.Limits.ContentMemory),
		counts:         admission.NewCounts(),
		levels:         limits.NewBucketLevels(time.Now()),
		throttled:      limits.NewThrottleMetrics(o.Metrics),
		activity:       observe.NewActivity(o.Store, o.Metrics),
		started:        time.Now(),
		draining:       new(atomic.Bool),
		waits:          polling.NewWaits(o.Config.Operations.Waiting, int(o.Config.Limits.ShareOf(int64(o.Config.Operations.Waiting)))),
		newest:         new(atomic.Pointer[Gateway]),
		adminTokens:    new(atomic.Pointer[[]config.AdminToken]),
	}}
	g.traffic = observe.NewTraffic(g.metrics)
	g.names = observe.NewNames(o.Store.Names)
	g.recent = observe.NewRecent(o.Store.Errors, g.sender)
	o.Upstream.Audit(g.audit.Call)
	lists := g.listOptions(o.Config, o.Keys)
	lists.Budget = memory(meter.Memory{Setting: "lists.totalMemory", Metric: "portico_fanout", Holds: "merged lists"}, o.Config.Lists.TotalMemory)
	g.lister = fanout.NewLister(lists)
	g.configure(o.Config, o.Authenticator, o.Sinks)
	g.runner = jobs.NewRunner(jobs.Options{
		Store: g.store, Kinds: g.kinds(), Owner: g.sender, Lease: o.Config.Jobs.Lease, Floor: o.Config.Index.PollFloor,
		CallerShare: o.Config.Limits.CallerShare, Tracer: o.Tracer, Log: g.log, Metrics: o.Metrics,
	})
	g.frontDoor = g.newFrontDoor()
	g.newest.Store(g)
	return g
}

// Succeed returns a gateway that answers by another configuration, alongside g and
// in its place. What cannot change at run time (config.Succeed) has to be as it was.
func (g *Gateway) Succeed(c *config.Config, authenticator access.Authenticator, keys *fanout.Keys, sinks []*webhook.Sink) *Gateway {
	next := &Gateway{longLived: g.longLived, lister: g.lister.WithOptions(g.listOptions(c, keys))}
	next.configure(c, authenticator, sinks)
	next.frontDoor = next.newFrontDoor()
	next.newest.Store(next)
	return next
}

// listOptions are those of merged lists, except for the memory that all lists share.
func (l *longLived) listOptions(c *config.Config, keys *fanout.Keys) fanout.Options {
	return fanout.Options{
		Reader: l.upstream, Keys: keys, Public: c.Server.PublicURL,
		Memory: c.Lists.Memory, PageSize: c.Limits.AnswerBody,
		TokenLifetime: c.Lists.TokenLifetime, Timeout: c.Upstream.CallTimeout, Metrics: l.registry,
	}
}

// configure makes what depends on the configuration alone.
func (g *Gateway) configure(c *config.Config, authenticator access.Authenticator, sinks []*webhook.Sink) {
	g.config, g.public = c, c.Server.PublicURL
	g.adminTokens.Store(&c.Server.AdminTokens)
	g.router = &routing.Router{Map: c.Map, Index: storeIndex{g.store, g.store.Operations, g.store.Locations}, Scopes: g.store.Scopes}
	g.prober = locate.Prober{Map: c.Map, Upstream: g.upstream, Store: g.store, Public: g.public, Timeout: c.Index.AskTimeout}
	finder := locate.NewFinder(g.prober, g.log)
	g.sweeper = &sweep.Sweeper{
		Prober: g.prober, Patience: c.Upstream.CallTimeout, Interval: c.Index.SweepInterval, Region: c.Server.Region, Searches: finder, Log: g.log,
	}
	g.webhooks = webhook.New(webhook.Deliverer{Sinks: sinks, Store: g.store, Interval: min(c.Index.PollFloor, time.Second), Tracer: g.tracer, Log: g.log})
	g.resolver = &admission.Resolver{Router: g.router, Finder: finder, Prober: g.prober}
	g.authorizer = authorize.New(&c.Auth, g.store.Roles, g.store.Scopes, g.authorizations)
	g.admission = &admission.Admission{Store: g.store, Config: c, Counts: g.counts}
	exchanges := &exchange.Settings{HTTPS: g.public.Scheme == "https", MaxContent: c.Limits.RequestBody, Memory: g.contentMemory, Log: g.log, Refused: g.activity.Refused}
	g.polls = &polling.Operations{Store: g.store, Public: g.public, Settings: &c.Operations, Waits: g.waits}
	polls := &polling.Forwarded{Operations: g.polls, Config: c, Resolver: g.resolver, Admission: g.admission, Log: g.log}
	g.proxy = &proxy.Proxy{
		Config: c, Public: g.public, Store: g.store, Intents: g.store, Upstream: g.upstream, Resolver: g.resolver,
		Admission: g.admission, Authorizer: g.authorizer, Lister: g.lister, Polls: polls, Activity: g.activity, Sender: g.sender, Tracer: g.tracer, Log: g.log,
	}
	observer := observe.New(g.metrics, g.recent, g.names, g.audit, g.access, c.Log, c.Upstream.CallTimeout+exchange.DeliveryTime(c.Limits.AnswerBody))
	g.throttle = throttle.New(throttle.Options{
		Config: &c.Throttle, Levels: g.levels, Replicas: func() int { return g.runner.Replicas() }, Scopes: g.store.Scopes, Metrics: g.throttled,
	})
	g.Links = &chain.Links{
		Config: c, Authenticator: authenticator, Enforced: g.authorizer.Enforced(), Hosts: chain.NewHosts(g.public, c.Server.Listen),
		Exchanges: exchanges, Observe: observer.Observe, Spoofed: g.metrics.Spoofed, Tracer: g.tracer, Panics: g.log, Last: g.dispatch,
	}
	g.batched = g.newInner()
	g.batches = g.newBatches(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { g.newest.Load().batched.ServeHTTP(w, r) }))
}

// newFrontDoor makes what answers for Portico's own resources. They need the runner, so
// it comes last.
func (g *Gateway) newFrontDoor() http.Handler {
	g.polls.Jobs = g.runner
	return frontdoor.New(frontdoor.Options{
		Config: g.config, Store: g.store, Router: g.router, Resolver: g.resolver, Admission: g.admission, Authorizer: g.authorizer, Polls: g.polls,
		Lister: g.lister, Batches: g.batches, Preflight: g.newPreflight(), WhatIf: g.newWhatIf(), Deployments: g.newDeployments(), Jobs: g.runner, Proxy: g.proxy,
	})
}

// storeIndex is the inventory as routing asks it: locations by way of the cache.
type storeIndex struct {
	*inventory.Store
	*operations.Records
	*memory.Locations
}

// Public returns the handler of the public listener.
func (g *Gateway) Public() http.Handler {
	var compress chain.Middleware
	if c := g.config.Server.Compression; !c.Off {
		compress = compression.New(c.Minimum, g.contentMemory).Compress
	}
	return chain.Of(g.Last,
		exchange.EndAmbiguous,
		g.part, // while draining, each answer is its connection's last
		exchange.Begin(g.Exchanges),
		g.Observe, // logs and metrics, of refusals too
		g.Recover, // a panic is a 500, and the log's affair
		compress,
		chain.InTurn(
			g.BoundContent,
			g.Identify,
			g.GuardHost,
			g.Authenticate, // from here on no reserved header is left
			g.Classify,
			g.throttle.Limit,
		),
	)
}

// Admin returns the handler of the admin listener.
func (g *Gateway) Admin() http.Handler {
	return admin.New(admin.Options{
		Config: g.config, Store: g.store, Authorizer: g.authorizer, Jobs: g.runner, Upstream: g.upstream, Sweeps: g.sweeper, Started: g.started, Sinks: g.webhooks, Targets: notify.Targets(g.config.Map.Providers()...), Reload: g.reload,
		Metrics: g.registry, Draining: g.draining.Load, Recent: g.recent, Traffic: g.traffic, Generations: g.generations, Sessions: g.sessions, Attempts: g.attempts, Audit: g.audit, Explain: g.Explain, Log: g.log,
		TokensNow: func() []config.AdminToken { return *g.adminTokens.Load() },
	})
}

// Drain makes the gateway, and those that succeed it, report itself unready. It
// goes on answering, but waits for the end of no operation, and ends each connection that
// it answers on.
func (g *Gateway) Drain() {
	g.draining.Store(true)
	g.waits.End()
}

// part makes a client that is answered while the gateway drains come back by
// another connection, which a load balancer gives to another gateway: a
// connection that is closed without a word may have a request on its way. Over
// HTTP/2 net/http makes a GOAWAY of it.
func (g *Gateway) part(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.draining.Load() {
			w.Header()["Connection"] = []string{"close"}
		}
		next.ServeHTTP(w, r)
	})
}

// dispatch answers a classified request.
func (g *Gateway) dispatch(w http.ResponseWriter, r *http.Request) {
	x := exchange.From(r)
	if x.Request.Class == routing.Own {
		g.frontDoor.ServeHTTP(w, r)
		return
	}
	if err := g.proxy.Answer(w, r, x); err != nil {
		exchange.Fail(w, r, err)
	}
}

// Sweeper returns what compares the index with the providers, for sweeps without a
// runner.
func (g *Gateway) Sweeper() *sweep.Sweeper { return g.sweeper }

// Traffic returns what remembers how requests went lately. The caller runs it.
func (g *Gateway) Traffic() *observe.Traffic { return g.traffic }

// Recent returns what remembers the last errors. The caller runs it.
func (g *Gateway) Recent() *observe.Recent { return g.recent }

// Names returns what keeps the names of callers. The caller runs it.
func (g *Gateway) Names() *observe.Names { return g.names }

// Runner returns what does the durable work alongside the requests. The caller
// runs it, and ends it before it closes the store.
func (g *Gateway) Runner() *jobs.Runner { return g.runner }
