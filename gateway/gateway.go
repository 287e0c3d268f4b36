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
	"portico/limits"
	"portico/logs"
	"portico/operations"
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
	Audit   *zap.Logger
	Metrics Registry
	// Keys seal and open skip tokens; nil for a key of the gateway's own, with
	// which nobody else can go on.
	Keys *fanout.Keys
}

// Registry takes the gateway's metrics and shows them on the admin listener.
type Registry interface {
	prometheus.Registerer
	prometheus.Gatherer
}

// Gateway answers the requests of both listeners. It is safe for concurrent
// use and holds no goroutines of its own.
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
	asker         operations.Asker
	sender        string // also the owner of the jobs that it works on
	runner        *operations.Runner
	sweeping      *operations.Sweeping
	own           http.Handler
	hosts         map[string]bool // under which the public listener is called
	batched       http.Handler    // answers a request in a batch
	batchMemory   *limits.Memory  // for the answers of batches
	draining      atomic.Bool
}

// New assembles a gateway.
func New(o Options) *Gateway {
	locations := o.Store.Locations()
	g := &Gateway{
		config:        o.Config,
		store:         o.Store,
		locations:     locations,
		upstream:      o.Upstream,
		authenticator: o.Authenticator,
		router:        &routing.Router{Map: o.Config.Map, Index: index{o.Store, locations}},
		log:           o.Log,
		access:        newAccessLog(o.Log, o.Config.Log),
		audit:         o.Audit,
		metrics:       newMetrics(o.Metrics),
		registry:      o.Metrics,
		public:        o.Config.Server.PublicURL,
		lister:        newLister(o),
		sender:        operations.NewOwner(),
	}
	if g.audit == nil {
		g.audit = logs.Audit(o.Log)
	}
	o.Upstream.Audit(func(c upstream.Call, began time.Time, status int, err error) {
		auditCall(g.audit, c, began, status, err)
	})
	g.asker = operations.Asker{
		Map: o.Config.Map, Upstream: o.Upstream, Store: o.Store, Public: g.public, Timeout: o.Config.Index.AskTimeout,
	}
	g.hosts = allowedHosts(g.public, o.Config.Server.Listen)
	g.router.Finder = newFinder(g)
	g.sweeping = g.newSweeping()
	g.runner = g.newRunner(o.Metrics)
	g.own = g.ownRoutes()
	g.batched, g.batchMemory = g.batchedChain(), limits.NewMemory(o.Config.Batch.TotalMemory)
	showMemory(o.Metrics, "portico_batch", "answers in batches", "batch.totalMemory", o.Config.Batch.TotalMemory, g.batchMemory)
	return g
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
		g.begin,   // an exchange for every request, whatever becomes of it
		g.observe, // logs and metrics, of refusals too
		g.recover, // a panic is a 500, and the log's affair
		g.boundContent,
		g.identify, // ids, then no reserved header is left
		g.guardHost,
		g.authenticate,
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

// Drain makes the gateway report itself unready. It goes on answering.
func (g *Gateway) Drain() { g.draining.Store(true) }

// Runner returns what does the durable work beside the requests. The caller
// runs it, and ends it before it closes the store.
func (g *Gateway) Runner() *operations.Runner { return g.runner }

// newRunner puts together the kinds of durable work.
func (g *Gateway) newRunner(registry prometheus.Registerer) *operations.Runner {
	index, region, moving := g.config.Index, g.config.Server.Region, g.newMoving()
	return operations.NewRunner(operations.RunnerOptions{
		Store: g.store, Owner: g.sender, Lease: g.config.Jobs.Lease, Floor: index.PollFloor, Log: g.log, Metrics: registry,
		Kinds: map[string]operations.Kind{
			inventory.NoticeJob: g.newNoticing(), inventory.RegistrationJob: operations.Settling{Store: g.store},
			inventory.EraseJob:  operations.Erasing{Store: g.store, Floor: index.PollFloor},
			operations.SweepJob: g.sweeping, inventory.GroupDeleteJob: g.newGroupDeletion(),
			inventory.RequestBatchJob: batching{g},
			inventory.MoveJob:         moving, inventory.ValidateMoveJob: operations.MoveValidation{Moving: moving},
			inventory.VerifyJob: operations.Verification{
				Asker: g.asker, Floor: index.PollFloor, Patience: g.config.Upstream.CallTimeout, Region: region,
			},
			inventory.FollowJob: operations.NewFollowing(operations.Following{
				Asker: g.asker, Floor: index.PollFloor, Patience: g.config.Upstream.CallTimeout,
				Limit: index.FollowLimit, Recheck: index.FollowRecheck, Region: region,
			}, registry),
		},
	})
}
