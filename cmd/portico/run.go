package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"go.uber.org/zap"

	"portico/config"
	"portico/gateway/chain"
	"portico/gateway/exchange"
	"portico/internal/connections"
	"portico/internal/http1/server"
	"portico/internal/meter"
	"portico/internal/plural"
	"portico/internal/timing"
)

// Bounds of the listeners.
const (
	lastLinesTime = 5 * time.Second  // for the last lines of the access log
	headerTime    = 10 * time.Second // to send the headers of a request, and for a handshake of TLS
)

// run serves until ctx ends or a listener fails, then drains: it becomes unready,
// finishes requests under way, and closes the store last.
func (s *service) run(ctx context.Context, public, admin net.Listener) error {
	tables := []*connections.Table{s.connections.public, s.connections.admin}
	var http2 *http.Server
	admin = tables[1].Listen(admin)
	if s.certificate.usesTLS() {
		http2 = s.http2Server(tables[0])
		failures := failedHandshakes{log: s.log}
		public = tables[0].ListenTLS(public, connections.TLSOptions{
			Config: http2.TLSConfig, Timeout: headerTime,
			OnFailed: func(from net.Addr, err error) { failures.failed(from, err, time.Now()) },
		})
	} else {
		public = tables[0].Listen(public)
	}
	servers := []*server.Server{s.server(s.live.Public(), tables[0], http2), s.server(s.live.Admin(), tables[1], nil)}
	defer s.writeAccessLog(context.WithoutCancel(ctx))()
	defer s.traces.send(context.WithoutCancel(ctx))()
	background, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWork()
	worked := s.work(background)
	ended := make(chan error, len(servers))
	for i, l := range []net.Listener{public, admin} {
		go func() { ended <- servers[i].Serve(l) }()
	}
	s.log.Info("serving", zap.Stringer("public", public.Addr()), zap.Stringer("admin", admin.Addr()),
		zap.Stringer("publicURL", s.config.Load().Server.PublicURL))

	var drain config.Drain
	select {
	case err := <-ended:
		ended <- err // counted below
		drain = s.config.Load().Server.Drain
	case <-ctx.Done():
		drain = s.config.Load().Server.Drain
		s.live.Gateway().Drain()
		requests, jobs := s.underWay()
		s.log.Info("draining: waiting for "+plural.Count(requests, "request", "requests")+" and "+plural.Count(jobs, "job", "jobs")+
			"; another signal (Ctrl-C) ends it at once", zap.Duration("delay", drain.Delay), zap.Duration("limit", drain.Limit))
		_ = timing.Sleep(context.WithoutCancel(ctx), drain.Delay) // never cancelled
	}
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain.Limit)
	defer cancel()
	stopWork() // other gateways take it over while requests finish here
	failure := s.stop(limit, servers)
	for range servers {
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			failure = errors.Join(failure, err)
		}
	}
	select {
	case <-worked:
	case <-limit.Done():
		return errors.Join(failure, errors.New("work was cut off at the end of the drain"))
	}
	return errors.Join(failure, s.close())
}

// underWay returns how many requests, and attempts at jobs, are under way here.
func (s *service) underWay() (requests, jobs int) {
	families, _ := s.registry.Gather() // the metrics without an error are returned nevertheless
	for _, family := range families {
		for _, m := range family.GetMetric() {
			switch n := int(m.GetGauge().GetValue()); {
			case family.GetName() == "portico_requests_in_flight":
				requests += n
			case family.GetName() == "portico_jobs" && meter.Label(m, "state") == "running":
				jobs += n
			}
		}
	}
	return requests, jobs
}

// work runs the background tasks until ctx ends, and then releases the jobs that it
// holds. The channel is closed when all have ended.
func (s *service) work(ctx context.Context) <-chan struct{} {
	var parts sync.WaitGroup
	parts.Go(func() { s.live.Gateway().Run(ctx) })
	parts.Go(func() { s.followChanges(ctx) })
	parts.Go(func() { s.upstream.Run(ctx) })
	parts.Go(func() { s.issuers.Run(ctx) })
	worked := make(chan struct{})
	go func() {
		defer close(worked)
		parts.Wait()
	}()
	return worked
}

// writeAccessLog writes the lines of the access log until end is called, which waits for
// the last ones. It waits only a while, because their reader may be gone.
func (s *service) writeAccessLog(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	written := make(chan struct{})
	go func() {
		defer close(written)
		s.access.Run(ctx)
	}()
	return func() {
		cancel()
		select {
		case <-written:
		case <-time.After(lastLinesTime):
		}
	}
}

// describeRefusal returns the content of the answer to bytes that are not a request.
func describeRefusal(why connections.Refusal) (contentType string, content []byte) {
	return "application/json; charset=utf-8", exchange.NoRequest(&why).Body()
}

// server returns the server of a listener. net/http serves HTTP/2, if TLS negotiates it.
func (s *service) server(h http.Handler, t *connections.Table, http2 *http.Server) *server.Server {
	return server.New(server.Options{
		Handler: h, ReadHeaderTimeout: headerTime, IdleTimeout: s.config.Load().Server.Connections.Idle, MaxHead: chain.HeadBytes,
		ConnState: t.ConnState, ConnContext: t.ConnContext, ErrorLog: newServerLog(s.log), Describe: describeRefusal, HTTP2: http2,
	})
}

// http2Server returns the server of the public listener's connections of HTTP/2.
func (s *service) http2Server(t *connections.Table) *http.Server {
	return &http.Server{
		Handler: withStack(s.live.Public()), IdleTimeout: s.config.Load().Server.Connections.Idle, MaxHeaderBytes: 2 * chain.HeadBytes,
		MaxHeaderValueCount: server.MaxLines,
		ConnState:           t.ConnState, ConnContext: t.ConnContext, TLSConfig: s.certificate.server(), HTTP2: http2Bounds(),
		ReadHeaderTimeout: headerTime, DisableGeneralOptionsHandler: true, ErrorLog: newServerLog(s.log),
	}
}

// stop ends the servers one after the other: the admin listener, which is last, reports
// to the end that this gateway is not ready.
func (s *service) stop(limit context.Context, servers []*server.Server) error {
	var failure error
	for _, server := range servers {
		if err := server.Shutdown(limit); err != nil {
			s.log.Warn("requests were cut off at the end of the drain", zap.Error(err))
			failure = errors.Join(failure, server.Close())
		}
	}
	return failure
}
