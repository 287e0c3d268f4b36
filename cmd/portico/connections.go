package main

import (
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"portico/config"
	"portico/internal/connections"
	"portico/tracing"
)

// The admin listener has its own bounds: a client that takes all connections of the
// public one must not keep probes out.
const (
	adminConnections           = 512
	adminConnectionsPerAddress = 256
)

// http2Bounds bounds a connection of HTTP/2. net/http itself ends a connection that sends
// an endless header, resets streams faster than their handlers end, or causes control
// frames that it does not read.
func http2Bounds() *http.HTTP2Config {
	return &http.HTTP2Config{
		MaxConcurrentStreams:          100,
		MaxDecoderHeaderTableSize:     4 << 10,
		MaxEncoderHeaderTableSize:     4 << 10,
		MaxReadFrameSize:              64 << 10,
		MaxReceiveBufferPerConnection: 1 << 20,
		MaxReceiveBufferPerStream:     256 << 10,
		SendPingTimeout:               time.Minute,
		PingTimeout:                   15 * time.Second,
		WriteByteTimeout:              time.Minute,
	}
}

// tables bound the connections of the listeners.
type tables struct{ public, admin *connections.Table }

// newTables returns the tables for the configuration of the start; trusted is called for
// each connection.
func newTables(c config.Connections, trusted func() []netip.Prefix, registry prometheus.Registerer) tables {
	refused := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "portico_connections_refused_total",
		Help: "Connections that were refused or closed, by listener and reason: all (too many in total), address (too many from one address), " +
			"displaced (by a connection from an address with fewer), unauthenticated (idle for too long without an authenticated request), " +
			"handshake (the TLS handshake failed).",
	}, []string{"listener", "reason"})
	registry.MustRegister(refused)
	table := func(listener string, all, perAddress int) *connections.Table {
		for _, reason := range connections.Reasons() {
			refused.WithLabelValues(listener, reason)
		}
		return connections.New(connections.Options{
			MaxConnections: all, MaxPerAddress: perAddress, IdleUnauthenticated: c.IdleUnauthenticated,
			Describe:  describeRefusal,
			Trusted:   func(a netip.Addr) bool { return tracing.ContainsAddress(trusted(), a) },
			OnRefused: func(reason string) { refused.WithLabelValues(listener, reason).Inc() },
		})
	}
	all := tables{table("public", c.All, c.PerAddress), table("admin", adminConnections, adminConnectionsPerAddress)}
	registry.MustRegister(openConnections{
		all, prometheus.NewDesc("portico_connections", "Open connections, by listener: public, admin.", []string{"listener"}, nil),
	})
	return all
}

// failuresApart is the least time between two log lines about failed handshakes: any
// client that reaches the listener can cause any number of them.
const failuresApart = time.Minute

type failedHandshakes struct {
	log *zap.Logger

	mu    sync.Mutex
	count int // not logged yet
	last  time.Time
}

func (f *failedHandshakes) failed(from net.Addr, err error, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count++
	if now.Sub(f.last) < failuresApart {
		return
	}
	f.log.Info("TLS handshakes failed", zap.Int("count", f.count), zap.Stringer("lastFrom", from), zap.NamedError("last", err))
	f.count, f.last = 0, now
}

type openConnections struct {
	tables
	desc *prometheus.Desc
}

// Describe implements [prometheus.Collector].
func (o openConnections) Describe(to chan<- *prometheus.Desc) { to <- o.desc }

// Collect implements [prometheus.Collector].
func (o openConnections) Collect(to chan<- prometheus.Metric) {
	to <- prometheus.MustNewConstMetric(o.desc, prometheus.GaugeValue, float64(o.public.Count()), "public")
	to <- prometheus.MustNewConstMetric(o.desc, prometheus.GaugeValue, float64(o.admin.Count()), "admin")
}
