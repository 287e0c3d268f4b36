package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"portico/access"
	"portico/config"
	"portico/fanout"
	"portico/gateway"
	"portico/inventory"
	"portico/logs"
	"portico/meter"
	"portico/operations"
	"portico/upstream"
)

// Bounds of the listeners.
const (
	headerTime = 10 * time.Second // to send the headers of a request
	idleTime   = 2 * time.Minute
	// headerBytes is what a request's headers may take; net/http adds 4 KiB of
	// its own to the number it is given.
	headerBytes = 16<<10 - 4<<10
	startTime   = 30 * time.Second // to open the store
)

// service is a gateway with the parts that it owns.
type service struct {
	config   *config.Config
	log      *zap.Logger
	store    *inventory.Store
	upstream *upstream.Client
	gateway  *gateway.Gateway
	registry *meter.Registry
	// shown and expiries tell of the configuration and the certificates in use.
	shown    *meter.Configuration
	expiries *meter.Certificates
	audit    *logs.File  // nil where audit lines go with the others
	tls      *tls.Config // of the public listener; nil for plain HTTP
}

func newService(ctx context.Context, cfg *config.Config, log *zap.Logger) (*service, error) {
	s := &service{config: cfg, log: log}
	var err error
	if cert := cfg.Server.TLS.Cert; cert != "" {
		if s.tls, err = serverTLS(cert, cfg.Server.TLS.Key); err != nil {
			return nil, err
		}
	}
	upstreamTLS, err := clientTLS(cfg.Upstream.TLS)
	if err != nil {
		return nil, err
	}
	authenticator, err := authenticatorOf(cfg)
	if err != nil {
		return nil, err
	}
	registry := meter.New()
	meter.Process(registry)
	s.registry, s.shown, s.expiries = registry, meter.NewConfiguration(registry), meter.NewCertificates(registry)
	s.shown.Loaded(1, time.Now())
	s.showCertificates(upstreamTLS)
	if s.store, err = openStore(ctx, cfg, registry); err != nil {
		return nil, err
	}
	keys, err := tokenKeys(ctx, cfg, s.store)
	if err != nil {
		return nil, errors.Join(err, s.store.Close())
	}
	audit, err := s.openAudit()
	if err != nil {
		return nil, errors.Join(err, s.store.Close())
	}
	s.upstream = upstream.New(upstream.Options{
		CallTimeout: cfg.Upstream.CallTimeout, MaxAnswer: cfg.Limits.AnswerBody, Readers: cfg.Upstream.ReadsPerEndpoint, TLS: upstreamTLS,
		Metrics: registry,
	})
	s.gateway = gateway.New(gateway.Options{
		Config: cfg, Store: s.store, Upstream: s.upstream, Authenticator: authenticator, Log: log, Audit: audit, Metrics: registry, Keys: keys,
	})
	return s, nil
}

// openAudit opens the file of audit lines, if they have one, and counts those
// that it does not take.
func (s *service) openAudit() (*zap.Logger, error) {
	log := logs.Audit(s.log)
	if path := s.config.Log.Audit; path != config.AuditStderr {
		var err error
		if s.audit, err = logs.OpenFile(path); err != nil {
			return nil, err
		}
		log = s.audit.Logger()
	}
	s.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "portico_audit_failures_total", Help: "Audit lines that could not be written to the file of log.audit.",
	}, func() float64 {
		if s.audit == nil {
			return 0
		}
		return float64(s.audit.Failures())
	}))
	return log, nil
}

// close ends what the service holds, when nothing uses it any more.
func (s *service) close() error {
	s.upstream.Close()
	err := s.store.Close()
	if s.audit != nil {
		err = errors.Join(err, s.audit.Close())
	}
	return err
}

// showCertificates tells when those in use end.
func (s *service) showCertificates(upstream *tls.Config) {
	for use, c := range map[string]*tls.Config{meter.ListenerCertificate: s.tls, meter.UpstreamCertificate: upstream} {
		if c != nil && len(c.Certificates) > 0 && c.Certificates[0].Leaf != nil {
			s.expiries.Use(use, c.Certificates[0].Leaf.NotAfter)
		}
	}
}

// tokenKeys returns the keys of skip tokens: those of the configuration, else
// the one of the store.
func tokenKeys(ctx context.Context, cfg *config.Config, store *inventory.Store) (*fanout.Keys, error) {
	var keys []fanout.Key
	for _, key := range cfg.Lists.TokenKeys {
		keys = append(keys, fanout.Key{ID: key.ID, Key: key.Key})
	}
	if len(keys) == 0 {
		ctx, cancel := context.WithTimeout(ctx, startTime)
		defer cancel()
		key, err := store.Secret(ctx, "skip tokens")
		if err != nil {
			return nil, err
		}
		keys = append(keys, fanout.Key{Key: key})
	}
	return fanout.NewKeys(keys...)
}

func openStore(ctx context.Context, cfg *config.Config, metrics prometheus.Registerer) (*inventory.Store, error) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	store, err := inventory.Open(ctx, inventory.Options{
		Driver: cfg.Store.Driver, DSN: cfg.Store.DSN, Connections: cfg.Store.Connections,
		Limits: inventory.Limits{
			ResourcesPerTypeAndGroup: cfg.Limits.ResourcesPerTypeAndGroup,
			GroupsPerSubscription:    cfg.Limits.GroupsPerSubscription,
		},
		SendWithin:      cfg.Index.SendWithin,
		CallLimit:       cfg.Upstream.CallTimeout,
		CallMargin:      cfg.Index.CallMargin,
		LateWriteWindow: cfg.Index.LateWriteWindow,
		TombstoneAge:    cfg.Index.Tombstones,
		PollFloor:       cfg.Index.PollFloor,
		JobRecords:      cfg.Operations.Records,
		CacheTTL:        cfg.Index.CacheTTL,
		CacheEntries:    cfg.Index.CacheEntries,
		Metrics:         metrics,
	})
	if err != nil {
		return nil, err
	}
	seeds := make([]inventory.Subscription, 0, len(cfg.Subscriptions))
	for _, seed := range cfg.Subscriptions {
		state, err := inventory.ParseSubscriptionState(seed.State)
		if err != nil {
			return nil, errors.Join(err, store.Close())
		}
		seeds = append(seeds, inventory.Subscription{
			ID: seed.ID, TenantID: seed.TenantID, DisplayName: seed.DisplayName, State: state, Covered: seed.Covered,
			OfferID: seed.OfferID, PlacementID: seed.PlacementID, Features: seed.Features,
		})
	}
	if err := store.SeedSubscriptions(ctx, seeds, operations.Addressees(cfg.Map.Providers()...)...); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return store, nil
}

func authenticatorOf(cfg *config.Config) (access.Authenticator, error) {
	if cfg.Auth.Mode == config.AuthNone {
		return access.Anyone{}, nil
	}
	principals := make(map[string]access.Principal, len(cfg.Auth.Tokens))
	for _, t := range cfg.Auth.Tokens {
		principals[t.SHA256] = access.Principal{TenantID: t.TenantID, ObjectID: t.ObjectID, Name: t.Name, AppID: t.AppID}
	}
	authority := cfg.Metadata.LoginEndpoint
	if authority == "" {
		authority = cfg.Server.PublicURL.String()
	}
	if tenant := cfg.Metadata.Tenant; tenant != "" {
		authority += "/" + tenant
	}
	return access.NewTokens(principals, authority)
}

func serverTLS(cert, key string) (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, err
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}, nil
}

// clientTLS returns how providers are spoken to, nil for the system's defaults.
func clientTLS(o config.UpstreamTLS) (*tls.Config, error) {
	if o.CA == "" && o.Cert == "" {
		return nil, nil //nolint:nilnil // no configuration is a valid one
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.CA != "" {
		pem, err := os.ReadFile(o.CA)
		if err != nil {
			return nil, err
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no certificate", o.CA)
		}
	}
	if o.Cert != "" {
		pair, err := tls.LoadX509KeyPair(o.Cert, o.Key)
		if err != nil {
			return nil, err
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// run serves until ctx ends or a listener fails, then drains: unready first,
// requests under way to their end, the store last.
func (s *service) run(ctx context.Context, public, admin net.Listener) error {
	servers := []*http.Server{s.server(s.gateway.Public()), s.server(s.gateway.Admin())}
	if s.tls != nil {
		public = tls.NewListener(public, s.tls)
		servers[0].TLSConfig = s.tls
	}
	working, stopWorking := context.WithCancel(context.WithoutCancel(ctx))
	worked := make(chan struct{})
	go func() { defer close(worked); s.gateway.Runner().Run(working) }()
	ended := make(chan error, len(servers))
	for i, l := range []net.Listener{public, admin} {
		go func() { ended <- servers[i].Serve(l) }()
	}
	s.log.Info("serving", zap.Stringer("public", public.Addr()), zap.Stringer("admin", admin.Addr()), zap.Stringer("publicURL", s.config.Server.PublicURL))

	select {
	case err := <-ended:
		ended <- err // counted below
	case <-ctx.Done():
		s.gateway.Drain()
		pause(context.WithoutCancel(ctx), s.config.Server.Drain.Delay)
	}
	failure := s.stop(context.WithoutCancel(ctx), servers)
	for range servers {
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			failure = errors.Join(failure, err)
		}
	}
	stopWorking()
	<-worked
	return errors.Join(failure, s.close())
}

func (s *service) server(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: headerBytes,
		DisableGeneralOptionsHandler: true, ErrorLog: zap.NewStdLog(s.log),
	}
}

func (s *service) stop(ctx context.Context, servers []*http.Server) error {
	ctx, cancel := context.WithTimeout(ctx, s.config.Server.Drain.Limit)
	defer cancel()
	var failure error
	for _, server := range servers {
		if err := server.Shutdown(ctx); err != nil {
			s.log.Warn("requests were cut off at the end of the drain", zap.Error(err))
			failure = errors.Join(failure, server.Close())
		}
	}
	return failure
}

func pause(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-ctx.Done()
}
