package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"portico/access"
	"portico/access/issuer"
	"portico/config"
	"portico/fanout"
	"portico/gateway"
	"portico/gateway/admin"
	"portico/internal/logs"
	"portico/internal/meter"
	"portico/inventory"
	"portico/inventory/assignments"
	"portico/inventory/encryption"
	"portico/jobs"
	"portico/jobs/notify"
	"portico/regions/health"
	"portico/upstream"
)

// startTime bounds the opening of the store.
const startTime = 30 * time.Second

// service is a gateway with the parts that it owns.
type service struct {
	path          string // of the configuration
	log           *zap.Logger
	store         *inventory.Store
	upstream      *upstream.Client
	live          *gateway.Live
	certificate   certificate // of the public listener; empty for plain HTTP
	registry      gateway.Registry
	configMetrics *meter.Configuration // reports which configuration is in use
	generations   config.History
	expiries      *meter.Certificates
	signIns       *access.Metrics
	issuers       *issuer.Registry
	foreign       *access.ForeignTokens
	connections   tables
	traces        traces
	access        *logs.Batch
	audit         *logs.File       // nil if audit lines go to the log
	hangups       <-chan os.Signal // each triggers a reload; may be nil
	config        atomic.Pointer[config.Config]

	reloading          sync.Mutex     // held by a reload; guards what only a reload changes
	sources            config.Sources // of the configuration that was read last
	upstreamIdentities upstreamIdentities
	collector          collectorAccess
	authorities        []*x509.Certificate // accepted for clients' certificates
	removedReported    time.Time           // when the latest report of removed credentials was made; zero if there are none
	generation         int64
	unfinished         bool // the last reload failed because the store did not answer
}

// newService opens what a service needs. All metrics go to the registry.
func newService(ctx context.Context, cfg *config.Config, log *zap.Logger, registry gateway.Registry) (*service, error) {
	s := &service{path: cfg.Files[0], sources: cfg.Sources, generation: 1, log: log}
	s.config.Store(cfg)
	var err error
	meter.Process(registry)
	s.registry, s.configMetrics, s.expiries = registry, meter.NewConfiguration(registry), meter.NewCertificates(registry)
	s.configMetrics.Loaded(1, time.Now())
	s.generations.RecordApplied(config.HistoryEntry{Number: 1, Time: time.Now(), Why: "the start"}, nil, cfg)
	s.signIns, s.issuers = access.NewMetrics(registry), issuer.NewRegistry(log, registry)
	s.foreign = access.NewForeignTokens(log)
	s.connections = newTables(cfg.Server.Connections, func() []netip.Prefix { return s.config.Load().Server.TrustedProxies }, registry)
	if s.store, err = openStore(ctx, cfg, registry); err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}
	if cfg.Store.Driver == config.Postgres && len(cfg.Store.SealKeys) == 0 {
		log.Warn("store.sealKeys is not set: the key that encrypts the contents of batches is in the same database")
	}
	m, err := s.prepare(ctx, cfg)
	if err != nil {
		return nil, errors.Join(err, s.store.Close())
	}
	access := s.openAccess()
	audit, err := s.openAudit(cfg.Log.Audit)
	if err != nil {
		return nil, errors.Join(err, s.store.Close())
	}
	s.certificate.use(m.pair, m.access.authorities)
	s.authorities = m.access.authorities
	m.access.keys.Use()
	s.upstreamIdentities, s.collector = m.upstreamIdentities, m.collector
	s.showCertificates(m)
	if err := s.traces.open(cfg, m.collector, log, registry); err != nil {
		return nil, errors.Join(err, s.store.Close())
	}
	s.upstream = upstream.New(upstream.Options{
		CallTimeout: cfg.Upstream.CallTimeout, MaxAnswer: cfg.Limits.AnswerBody, Identities: m.upstreamIdentities.identities,
		Readers: cfg.Upstream.ReadsPerEndpoint, ReadersPerCaller: int(cfg.Limits.ShareOf(int64(cfg.Upstream.ReadsPerEndpoint))),
		Calls: cfg.Upstream.CallsPerEndpoint, CallsPerCaller: int(cfg.Limits.ShareOf(int64(cfg.Upstream.CallsPerEndpoint))),
		Queue: upstream.Queue{
			Time: cfg.Upstream.QueueTime, All: cfg.Upstream.QueuedPerEndpoint, PerCaller: int(cfg.Limits.ShareOf(int64(cfg.Upstream.QueuedPerEndpoint))),
		},
		Health: healthOf(cfg.Health), Metrics: registry, Log: log,
	})
	s.upstream.UseMap(cfg.Map, healthOf(cfg.Health))
	s.live = gateway.NewLive(gateway.New(gateway.Options{
		Config: cfg, Store: s.store, Upstream: s.upstream, Authenticator: m.access.authenticator, Log: log, Access: access, Audit: audit,
		Metrics: registry, Keys: m.keys, Sinks: m.sinks, Tracer: s.traces.tracer,
		Generations: &s.generations,
		Reload:      func(ctx context.Context) (admin.Reloaded, error) { return s.reload(ctx, "the admin listener") },
	}))
	return s, nil
}

// openAccess returns the access log, and counts the lines that it loses.
func (s *service) openAccess() *zap.Logger {
	log, lines := logs.Access(s.log)
	s.access = lines
	s.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "portico_access_lines_lost_total",
		Help: "Lines of the access log that were not written, because standard error was too slow or failed.",
	}, func() float64 { return float64(lines.Lost()) }))
	return log
}

// openAudit opens the file of audit lines, if one is configured, and counts the lines
// that could not be written.
func (s *service) openAudit(path string) (*zap.Logger, error) {
	log := logs.Audit(s.log)
	if path != config.AuditStderr {
		var err error
		if s.audit, err = logs.OpenFile(path, s.log); err != nil {
			return nil, fmt.Errorf("open the file of audit lines: %w", err)
		}
		log = s.audit.Logger()
	}
	s.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "portico_audit_failures_total", Help: "Audit lines that could not be written to the file log.audit.",
	}, func() float64 {
		if s.audit == nil {
			return 0
		}
		return float64(s.audit.Failures())
	}))
	return log, nil
}

// close closes what the service holds, when nothing uses it any more.
func (s *service) close() error {
	s.upstream.Close()
	err := s.store.Close()
	if s.audit != nil {
		err = errors.Join(err, s.audit.Close())
	}
	return err
}

func (s *service) showCertificates(m material) {
	s.expiries.Use(meter.ListenerCertificate, endOf(m.pair))
	m.upstreamIdentities.showExpiries(s.expiries)
}

// endOf returns when a certificate expires, zero if there is none.
func endOf(c *tls.Certificate) time.Time {
	if c == nil || c.Leaf == nil {
		return time.Time{}
	}
	return c.Leaf.NotAfter
}

// tokenKeys returns the keys of skip tokens: the configuration's, or else the store's.
func tokenKeys(ctx context.Context, cfg *config.Config, secrets encryption.Secrets) (*fanout.Keys, error) {
	var keys []fanout.Key
	for _, key := range cfg.Lists.TokenKeys {
		keys = append(keys, fanout.Key{ID: key.ID, Key: key.Key})
	}
	if len(keys) == 0 {
		ctx, cancel := context.WithTimeout(ctx, startTime)
		defer cancel()
		key, err := secrets.Named(ctx, "skip tokens")
		if err != nil {
			return nil, fmt.Errorf("read the key of skip tokens: %w", err)
		}
		keys = append(keys, fanout.Key{Key: key})
	}
	return fanout.NewKeys(keys...)
}

func openStore(ctx context.Context, cfg *config.Config, metrics prometheus.Registerer) (*inventory.Store, error) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	var keys [][32]byte
	for _, key := range cfg.Store.SealKeys {
		keys = append(keys, key.Key)
	}
	return inventory.Open(ctx, inventory.Options{
		EncryptionKeys: keys,
		Driver:         cfg.Store.Driver, DSN: cfg.Store.DSN, Connections: cfg.Store.Connections,
		Limits: inventory.Limits{
			ResourcesPerTypeAndGroup: cfg.Limits.ResourcesPerTypeAndGroup,
			GroupsPerSubscription:    cfg.Limits.GroupsPerSubscription,
			LocksPerSubscription:     cfg.Limits.LocksPerSubscription,
			TagNamesPerSubscription:  cfg.Limits.TagNamesPerSubscription,
			LearnedOperations:        cfg.Operations.Learned,
			Roles: assignments.Limits{
				PerSubscription: cfg.Limits.RoleAssignmentsPerSubscription, PerTenant: cfg.Limits.RoleAssignmentsPerTenant,
				DefinitionsPerTenant: cfg.Limits.RoleDefinitionsPerTenant,
			},
		},
		SendWithin:      cfg.Index.SendWithin,
		CallLimit:       cfg.Upstream.CallTimeout,
		CallMargin:      cfg.Index.CallMargin,
		LateWriteWindow: cfg.Index.LateWriteWindow,
		TombstoneAge:    cfg.Index.Tombstones,
		PollFloor:       cfg.Index.PollFloor,
		JobRecords:      cfg.Operations.Records,
		EventAge:        cfg.Events.Retention,
		MostEvents:      cfg.Events.Most,
		CacheTTL:        cfg.Index.CacheTTL,
		CacheEntries:    cfg.Index.CacheEntries,
		ScopeEntries:    cfg.Index.ScopeEntries,
		CauseOf:         jobs.CauseOf,
		Metrics:         metrics,
	})
}

// seed creates the configured subscriptions that do not exist yet.
func seed(ctx context.Context, cfg *config.Config, store *inventory.Store) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	seeds := make([]inventory.Subscription, 0, len(cfg.Subscriptions))
	for _, seed := range cfg.Subscriptions {
		state, err := inventory.ParseSubscriptionState(seed.State)
		if err != nil {
			return err
		}
		seeds = append(seeds, inventory.Subscription{
			ID: seed.ID, TenantID: seed.TenantID, DisplayName: seed.DisplayName, State: state, Covered: seed.Covered,
			OfferID: seed.OfferID, PlacementID: seed.PlacementID, Features: seed.Features,
		})
	}
	return store.SeedSubscriptions(ctx, seeds, notify.Targets(cfg.Map.Providers()...)...)
}

// healthOf returns the settings for judging and probing the addresses of providers.
func healthOf(h config.Health) upstream.Health {
	return upstream.Health{
		Settings: health.Settings{
			Failures: h.Circuit.Failures, Open: h.Circuit.Open, MaxOpen: h.Circuit.LongestOpen,
			Unhealthy: h.Probe.UnhealthyAfter, Healthy: h.Probe.HealthyAfter,
			ErrorRatio: h.Ejection.Errors, SlowFactor: float64(h.Ejection.SlowerThan), Calls: h.Ejection.Calls, Window: h.Ejection.Window,
			Eject: h.Ejection.Time, MaxEject: h.Ejection.LongestTime, MaxEjectedShare: h.Ejection.Most,
			SlowStart: h.SlowStart,
		},
		Probing: upstream.Probing{Path: h.Probe.Path, Interval: h.Probe.Interval, Suspect: h.Circuit.Open, Timeout: h.Probe.Timeout},
	}
}
