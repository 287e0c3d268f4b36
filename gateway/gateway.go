package gateway

import (
	"cmp"
	"context"
	"net/http"
	"sync"
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
	"portico/gateway/chain"
	"portico/gateway/exchange"
	"portico/gateway/explain"
	"portico/gateway/observe"
	"portico/gateway/polling"
	"portico/internal/logs"
	"portico/internal/meter"
	"portico/internal/timing"
	"portico/inventory"
	"portico/inventory/memory"
	"portico/inventory/polls"
	"portico/jobs"
	"portico/jobs/notify"
	"portico/jobs/sweep"
	"portico/jobs/webhook"
	"portico/limits"
	"portico/probe"
	"portico/tracing/spans"
	"portico/upstream"
)

// Options are the dependencies of a gateway. The caller owns them and closes them after the
// listeners have ended.
type Options struct {
	Config        *config.Config
	Store         *inventory.Store
	Upstream      *upstream.Client
	Authenticator access.Authenticator
	Log           *zap.Logger
	// Access and Audit are the access log and the audit log; by default loggers derived from
	// Log.
	Access, Audit *zap.Logger
	Metrics       Registry
	// Keys seal and open skip tokens; by default a new key, whose tokens no other gateway can
	// open.
	Keys *fanout.Keys
	// Sinks are the configuration's sinks, with the contents of their files.
	Sinks []*webhook.Sink
	// Tracer records traces; nil for none.
	Tracer *spans.Tracer
	// Reload reads the configuration again when the admin listener calls it; nil if that is not
	// possible.
	Reload func(context.Context) (admin.Reloaded, error)
	// Generations is the history of configurations; nil if none is kept.
	Generations *config.History
}

// Registry takes the gateway's metrics and shows them on the admin listener.
type Registry interface {
	prometheus.Registerer
	prometheus.Gatherer
}

// Gateway handles the requests of both listeners under one configuration, which never changes;
// see [Gateway.Succeed]. It is safe for concurrent use, and has no background goroutines except
// in Run.
type Gateway struct {
	*assembly
	sweeper   *sweep.Sweeper
	webhooks  *webhook.Deliverer
	explainer *explain.Explainer
}

// longLived has the parts that outlive a configuration.
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
	// authorizations counts permitted and refused actions.
	authorizations *authorize.Metrics
	registry       Registry
	tracer         *spans.Tracer
	sender         string // also the owner of the jobs that it works on
	runner         *jobs.Runner
	admin          admin.Options  // without the options that depend on the configuration
	batchMemory    *limits.Memory // for the answers in batches, what-ifs and deployments
	contentMemory  *limits.Memory // for the contents of requests
	counts         *admission.Counts
	levels         *limits.BucketLevels
	throttled      *limits.ThrottleMetrics
	activity       *observe.Activity
	draining       *atomic.Bool
	waits          *polling.Waits
	// newest handles requests under the current configuration, including calls of durable work
	// that started under an earlier one.
	newest *atomic.Pointer[assembly]
	// adminTokens are the admin tokens of the current configuration, for requests that last
	// longer than the configuration under which they started.
	adminTokens *atomic.Pointer[[]config.AdminToken]
}

// New assembles a gateway. The kinds of jobs are added to the runner last, because some of them
// send requests to the handlers, which in turn need the runner.
func New(o Options) *Gateway {
	if o.Access == nil {
		o.Access = o.Log.Named(logs.AccessName)
	}
	if o.Audit == nil {
		o.Audit = logs.Audit(o.Log)
	}
	if o.Keys == nil {
		o.Keys = fanout.NewRandomKeys()
	}
	l := newLongLived(o)
	o.Upstream.Audit(l.audit.Call)
	o.Upstream.SetDrained(o.Store.Drains.Is)
	lists := l.listOptions(o.Config, o.Keys)
	lists.Budget = o.memory(meter.Memory{Setting: "lists.totalMemory", Metric: "portico_fanout", Holds: "merged lists"}, o.Config.Lists.TotalMemory)
	g := l.gateway(o.Config, o.Authenticator, o.Sinks, fanout.NewLister(lists))
	l.runner.Add(g.kinds())
	return g
}

func newLongLived(o Options) *longLived {
	c, sender, metrics := o.Config, jobs.NewOwner(), observe.NewMetrics(o.Metrics)
	waiting := c.Operations.Waiting
	l := &longLived{
		store:    o.Store,
		upstream: o.Upstream,
		log:      o.Log,
		access:   o.Access,
		audit:    observe.NewAudit(o.Audit),
		metrics:  metrics,
		recent:   observe.NewRecent(o.Store.Errors, sender),
		names:    observe.NewNames(o.Store.Names),
		traffic:  observe.NewTraffic(metrics, o.Store.Traffic, sender),

		authorizations: authorize.NewMetrics(o.Metrics),
		registry:       o.Metrics,
		tracer:         o.Tracer,
		sender:         sender,
		runner: jobs.NewRunner(jobs.Options{
			Store: o.Store, Owner: sender, Lease: c.Jobs.Lease, Floor: c.Index.PollFloor,
			CallerShare: c.Limits.CallerShare, Tracer: o.Tracer, Log: o.Log, Metrics: o.Metrics,
		}),
		batchMemory: o.memory(meter.Memory{
			Setting: "batch.totalMemory", Metric: "portico_batch", Holds: "answers in batches, what-ifs and deployments",
		}, c.Batch.TotalMemory),
		contentMemory: o.memory(meter.Memory{Setting: "limits.contentMemory", Metric: "portico_content", Holds: "contents of requests"}, c.Limits.ContentMemory),
		counts:        admission.NewCounts(),
		levels:        limits.NewBucketLevels(time.Now()),
		throttled:     limits.NewThrottleMetrics(o.Metrics),
		activity:      observe.NewActivity(o.Store, o.Metrics),
		draining:      new(atomic.Bool),
		waits:         polling.NewWaits(waiting, int(c.Limits.ShareOf(int64(waiting)))),
		newest:        new(atomic.Pointer[assembly]),
		adminTokens:   new(atomic.Pointer[[]config.AdminToken]),
	}
	l.admin = admin.Options{
		Store: l.store, Jobs: l.runner, Upstream: l.upstream, Metrics: l.registry, Recent: l.recent, Traffic: l.traffic,
		Audit: l.audit, Log: l.log, Started: time.Now(), Draining: l.draining.Load, Reload: o.Reload,
		Generations: cmp.Or(o.Generations, new(config.History)), Sessions: console.NewSessions(time.Now), Attempts: new(console.Attempts),
		TokensNow: func() []config.AdminToken { return *l.adminTokens.Load() },
	}
	return l
}

// memory returns a memory budget that all callers share, with its metrics.
func (o *Options) memory(m meter.Memory, bytes int64) *limits.Memory {
	return m.New(o.Metrics, bytes, o.Config.Limits.ShareOf(bytes))
}

// Succeed returns a gateway with another configuration, which takes g's place while g finishes
// its requests. Settings that cannot change at run time (config.MergeForReload) must be the same.
func (g *Gateway) Succeed(c *config.Config, authenticator access.Authenticator, keys *fanout.Keys, sinks []*webhook.Sink) *Gateway {
	return g.gateway(c, authenticator, sinks, g.ports.lister.WithOptions(g.listOptions(c, keys)))
}

// listOptions returns the options of merged lists, without the memory that all lists share.
func (l *longLived) listOptions(c *config.Config, keys *fanout.Keys) fanout.Options {
	return fanout.Options{
		Reader: l.upstream, Keys: keys, Public: c.Server.PublicURL,
		Memory: c.Lists.Memory, PageSize: c.Limits.AnswerBody,
		TokenLifetime: c.Lists.TokenLifetime, Timeout: c.Upstream.CallTimeout, Metrics: l.registry,
	}
}

// gateway returns the gateway for a configuration, which becomes the current one.
func (l *longLived) gateway(c *config.Config, authenticator access.Authenticator, sinks []*webhook.Sink, lister *fanout.Lister) *Gateway {
	prober := probe.Prober{Map: c.Map, Upstream: l.upstream, Store: l.store, Public: c.Server.PublicURL, Timeout: c.Index.AskTimeout}
	finder := probe.NewFinder(prober, l.log)
	p := l.servicePorts(c, prober, lister)
	p.finder, p.authenticator = finder, authenticator
	g := &Gateway{
		assembly: l.build(c, p),
		sweeper: &sweep.Sweeper{
			Prober: prober, Patience: c.Upstream.CallTimeout, Interval: c.Index.SweepInterval, Region: c.Server.Region, Searches: finder, Log: l.log,
		},
		webhooks: webhook.New(webhook.Deliverer{
			Sinks: sinks, Store: l.store, Interval: min(c.Index.PollFloor, time.Second), Tracer: l.tracer, Log: l.log,
		}),
	}
	g.explainer = &explain.Explainer{
		Config: c, Store: l.store, Upstream: l.upstream, Authenticator: authenticator,
		Throttle: p.throttle, Preflight: g.preflight, Rehearse: g.rehearse,
	}
	l.adminTokens.Store(&c.Server.AdminTokens)
	return g
}

// servicePorts returns the ports of the service, without authenticator and finder.
func (l *longLived) servicePorts(c *config.Config, prober probe.Prober, lister *fanout.Lister) ports {
	delivery := exchange.DeliveryTime(c.Limits.AnswerBody)
	return ports{
		forward: l.upstream, prober: prober, lister: lister,
		index: storeIndex{l.store, l.store.Coverage, l.store.Operations, l.store.Locations}, scopes: l.store.Scopes,
		intents: l.store, nesting: l.store.Deployments, readLock: l.store.Locks.Get,
		authorizer: authorize.New(&c.Auth, l.store.Roles, l.store.Scopes, l.authorizations),
		throttle: chain.NewThrottle(chain.ThrottleOptions{
			Config: &c.Throttle, Levels: l.levels, Replicas: l.runner.Replicas, Scopes: l.store.Scopes, Metrics: l.throttled,
		}),
		counts: l.counts, spoofed: l.metrics.Spoofed, activity: l.activity,
		observe: observe.New(l.metrics, l.recent, l.names, l.audit, l.access, c.Log, c.Upstream.CallTimeout+delivery).Observe,
		tracer:  l.tracer, log: l.log, jobs: l.runner, waits: l.waits, newest: l.newest,
	}
}

// storeIndex is the inventory as an index for routing, with cached locations.
type storeIndex struct {
	*inventory.Store
	*inventory.Coverage
	*polls.Records
	*memory.Locations
}

// Public returns the handler of the public listener.
func (g *Gateway) Public() http.Handler {
	var compress chain.Middleware
	if c := g.config.Server.Compression; !c.Off {
		compress = chain.NewCompressor(c.Minimum, g.contentMemory).Compress
	}
	return chain.Of(g.Last,
		g.closeConnections, // while draining, each answer is its connection's last
		exchange.Begin(g.Exchanges),
		g.Observe, // logs and metrics, also of refusals
		g.Recover, // a panic is logged and answered with 500
		compress,
		chain.InTurn(
			g.BoundContent,
			g.Identify,
			g.GuardHost,
			g.Authenticate, // removes the last reserved headers
			g.Classify,
			g.ports.throttle.Limit,
		),
	)
}

// Admin returns the handler of the admin listener.
func (g *Gateway) Admin() http.Handler {
	o := g.admin
	o.Config, o.Authorizer, o.Targets = g.config, g.ports.authorizer, notify.Targets(g.config.Map.Providers()...)
	o.Sweeps, o.Sinks, o.Lists, o.Explain = g.sweeper, g.webhooks, g.ports.lister, g.explainer.Explain
	return admin.New(o)
}

// Drain makes the gateway and its successors report that they are not ready. They still answer
// requests, but wait for the end of no operation, and close each connection after an answer.
func (g *Gateway) Drain() {
	g.draining.Store(true)
	g.waits.End()
}

// closeConnections announces in each answer, while the gateway drains, that the connection will
// be closed, so that the client opens another one, which a load balancer gives to another
// gateway. Closing without an announcement could lose a request on its way. Over HTTP/2,
// net/http sends a GOAWAY for the header.
func (g *Gateway) closeConnections(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.draining.Load() {
			w.Header()["Connection"] = []string{"close"}
		}
		next.ServeHTTP(w, r)
	})
}

// Sweeper returns the gateway's sweeper, for sweeps without a runner.
func (g *Gateway) Sweeper() *sweep.Sweeper { return g.sweeper }

// Run does the durable work and records traffic, errors and names until ctx ends. It must have
// returned before the store is closed. One call also serves all successors of g.
func (g *Gateway) Run(ctx context.Context) {
	var parts sync.WaitGroup
	for _, run := range []func(context.Context){g.runner.Run, g.traffic.Run, g.recent.Run, g.names.Run, g.refreshDrains} {
		parts.Go(func() { run(ctx) })
	}
	parts.Wait()
}

// drainsAge bounds the age of what a gateway knows of drains that others record.
const drainsAge = 2 * time.Second

// refreshDrains learns of the drains that other gateways record. While the store does not answer,
// the known ones last until their time is over.
func (l *longLived) refreshDrains(ctx context.Context) {
	for timing.Sleep(ctx, drainsAge) == nil {
		_ = l.store.Drains.Refresh(ctx)
	}
}

// Live is a gateway whose configuration can change. A request is handled from start to end by
// the gateway that is current when it arrives. The same holds for an attempt at durable work,
// except for its calls on behalf of its caller: each of them is a new request.
type Live struct {
	current atomic.Pointer[handlers]
}

// handlers are a gateway and the handlers of its listeners.
type handlers struct {
	gateway       *Gateway
	public, admin http.Handler
}

// NewLive returns a Live with g as its current gateway.
func NewLive(g *Gateway) *Live {
	l := &Live{}
	l.current.Store(&handlers{g, g.Public(), g.Admin()})
	return l
}

// Replace makes next, created by [Gateway.Succeed], the current gateway.
func (l *Live) Replace(next *Gateway) {
	l.current.Store(&handlers{next, next.Public(), next.Admin()})
	next.runner.Replace(next.kinds())
}

// Gateway returns the current gateway.
func (l *Live) Gateway() *Gateway { return l.current.Load().gateway }

// Public returns the handler of the public listener.
func (l *Live) Public() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { l.current.Load().public.ServeHTTP(w, r) })
}

// Admin returns the handler of the admin listener.
func (l *Live) Admin() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { l.current.Load().admin.ServeHTTP(w, r) })
}
