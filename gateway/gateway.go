package gateway

import (
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
	"portico/inventory"
	"portico/jobs"
	"portico/limits"
	"portico/locate"
	"portico/logs"
	"portico/meter"
	"portico/operations/sweep"
	"portico/routing"
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
	// Audit takes the audit lines; nil for where Log's go.
	Audit *zap.Logger
	// Metrics may be nil: requests are not measured then.
	Metrics Registry
	// Keys seal and open skip tokens; nil for a key of the gateway's own, with
	// which nobody else can go on.
	Keys *fanout.Keys
	// Reload is what the admin listener calls to have the configuration read
	// anew; nil where that cannot be.
	Reload func(context.Context) (Reloaded, error)
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
	config        *config.Config
	store         *inventory.Store
	locations     *inventory.Locations
	upstream      *upstream.Client
	authenticator access.Authenticator
	router        *routing.Router
	log           *zap.Logger
	access        *accessLog
	audit         *zap.Logger
	metrics       *metrics
	registry      Registry
	public        *url.URL
	lister        *fanout.Lister
	prober        locate.Prober
	finder        *locate.Finder
	sender        string // also the owner of the jobs that it works on
	runner        *jobs.Runner
	sweeper       *sweep.Sweeper
	reload        func(context.Context) (Reloaded, error)
	own           http.Handler
	hosts         map[string]bool // under which the public listener is called
	batched       http.Handler    // answers a request in a batch
	batchMemory   *limits.Memory  // for the answers of batches
	contentMemory *limits.Memory  // for the contents of requests
	counts        *operationCounts
	draining      *atomic.Bool
	// current is who tells callers by the configuration that is in use now, for work
	// that was begun by an earlier one.
	current *atomic.Pointer[access.Authenticator]
}

// New assembles a gateway.
func New(o Options) *Gateway {
	if o.Keys == nil {
		o.Keys = fanout.NewRandomKeys()
	}
	measures := o.Metrics != nil
	if !measures {
		o.Metrics = prometheus.NewRegistry() // which nobody reads
	}
	g := &Gateway{
		store:         o.Store,
		locations:     o.Store.Locations(),
		upstream:      o.Upstream,
		log:           o.Log,
		audit:         o.Audit,
		metrics:       newMetrics(o.Metrics, measures),
		registry:      o.Metrics,
		sender:        jobs.NewOwner(),
		reload:        o.Reload,
		batchMemory:   sharedMemory(o, "batch.totalMemory", o.Config.Batch.TotalMemory),
		contentMemory: sharedMemory(o, "limits.contentMemory", o.Config.Limits.ContentMemory),
		counts:        newOperationCounts(),
		draining:      new(atomic.Bool),
		current:       new(atomic.Pointer[access.Authenticator]),
	}
	if g.audit == nil {
		g.audit = logs.Audit(o.Log)
	}
	o.Upstream.Audit(func(c upstream.Call, began time.Time, status int, err error) {
		auditCall(g.audit, c, began, status, err)
	})
	showMemory(o.Metrics, "portico_batch", "answers in batches", "batch.totalMemory", o.Config.Batch.TotalMemory, g.batchMemory)
	showMemory(o.Metrics, "portico_content", "contents of requests", "limits.contentMemory", o.Config.Limits.ContentMemory, g.contentMemory)
	memory := sharedMemory(o, "lists.totalMemory", o.Config.Lists.TotalMemory)
	showMemory(o.Metrics, "portico_fanout", "merged lists", "lists.totalMemory", o.Config.Lists.TotalMemory, memory)
	lists := listing(g, o.Config, o.Keys)
	lists.Budget = memory
	g.lister = fanout.NewLister(lists)
	g.configure(o.Config, o.Authenticator)
	g.runner = jobs.NewRunner(jobs.Options{
		Store: g.store, Kinds: g.kinds(), Owner: g.sender, Lease: o.Config.Jobs.Lease, Floor: o.Config.Index.PollFloor,
		CallerShare: o.Config.Limits.CallerShare, Log: g.log, Metrics: o.Metrics,
	})
	return g
}

// sharedMemory returns a memory of so many bytes, as a setting has it, of which each
// caller may hold a share.
func sharedMemory(o Options, setting string, bytes int64) *limits.Memory {
	tally := &limits.Stats{}
	meter.ShowBudget(o.Metrics, setting, tally)
	return limits.NewMemory(bytes, o.Config.Limits.ShareOf(bytes), tally)
}

// Succeed returns a gateway that answers by another configuration, beside g and
// in its place: they share everything that outlives a configuration. What of it
// cannot change at run time (config.Succeed) has to be as it was.
func (g *Gateway) Succeed(c *config.Config, authenticator access.Authenticator, keys *fanout.Keys) *Gateway {
	next := &Gateway{
		store: g.store, locations: g.locations, upstream: g.upstream, log: g.log, audit: g.audit, metrics: g.metrics, registry: g.registry,
		sender: g.sender, runner: g.runner, reload: g.reload, batchMemory: g.batchMemory, contentMemory: g.contentMemory, counts: g.counts, draining: g.draining,
		current: g.current,
	}
	next.lister = g.lister.WithOptions(listing(g, c, keys))
	next.configure(c, authenticator)
	return next
}

// configure makes what depends on the configuration alone.
func (g *Gateway) configure(c *config.Config, authenticator access.Authenticator) {
	g.config, g.authenticator, g.public = c, authenticator, c.Server.PublicURL
	g.current.Store(&authenticator)
	g.router = &routing.Router{Map: c.Map, Index: index{g.store, g.locations}}
	g.prober = locate.Prober{Map: c.Map, Upstream: g.upstream, Store: g.store, Public: g.public, Timeout: c.Index.AskTimeout}
	g.sweeper = &sweep.Sweeper{
		Prober: g.prober, Patience: c.Upstream.CallTimeout, Interval: c.Index.SweepInterval, Region: c.Server.Region, Log: g.log,
	}
	g.finder = locate.NewFinder(g.prober, g.log)
	g.hosts = allowedHosts(g.public, c.Server.Listen)
	g.access = newAccessLog(g.log, c.Log)
	g.own = g.ownRoutes()
	g.batched = g.batchedChain()
}

// index is the inventory as routing asks it: locations by way of the cache.
type index struct {
	*inventory.Store
	locations *inventory.Locations
}

func (i index) Locate(ctx context.Context, subscription string, key []byte, asked time.Time) (inventory.Located, error) {
	return i.locations.Locate(ctx, subscription, key, asked)
}

// Public returns the handler of the public listener.
func (g *Gateway) Public() http.Handler {
	return chain(http.HandlerFunc(g.dispatch),
		endAmbiguous,
		g.part,    // while draining, each answer is its connection's last
		g.begin,   // an exchange for every request, whatever becomes of it
		g.observe, // logs and metrics, of refusals too
		g.recover, // a panic is a 500, and the log's affair
		boundContent(g.config.Limits.RequestBody),
		g.identify,
		g.guardHost,
		g.authenticate, // from here on no reserved header is left
		g.classify,
	)
}

// middleware wraps a handler in one concern.
type middleware func(http.Handler) http.Handler

// chain composes middlewares in the order in which a request meets them.
func chain(last http.Handler, links ...middleware) http.Handler {
	for i := len(links) - 1; i >= 0; i-- {
		last = links[i](last)
	}
	return last
}

// Drain makes the gateway, and those that succeed it, report itself unready. It
// goes on answering, but ends each connection that it answers on.
func (g *Gateway) Drain() { g.draining.Store(true) }

// part has a client that is answered while the gateway drains come back by
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

// Runner returns what does the durable work beside the requests. The caller
// runs it, and ends it before it closes the store.
func (g *Gateway) Runner() *jobs.Runner { return g.runner }
