// Package meter holds the common parts of all metrics: histograms, native and
// classic, with exemplars; and the metrics of the process: its build, its
// configuration, its certificates.
//
// Each package defines its own metrics. Their names begin with portico_,
// units are seconds and bytes, and no label has text from clients: labels are
// names in the region map, or words from lists in the code.
package meter

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"portico/internal/version"
)

// Process registers the metrics of the process: of the Go runtime, of the operating
// system, and of the build.
func Process(r prometheus.Registerer) {
	b := version.Current()
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "portico_build_info", Help: "Always 1. The labels identify the build.",
	}, []string{"version", "revision", "goversion"})
	build.WithLabelValues(b.Version, b.Revision, b.Go).Set(1)
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), build)
}

// Configuration exports the state of the configuration. It is safe for concurrent use.
type Configuration struct{ generation, last, success, removed prometheus.Gauge }

// NewConfiguration registers the metrics of the configuration.
func NewConfiguration(r prometheus.Registerer) *Configuration {
	c := &Configuration{
		generation: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "portico_config_generation", Help: "The number of the configuration in use: 1 at the start, one more after each accepted reload.",
		}),
		last: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "portico_config_last_reload_timestamp_seconds", Help: "When a configuration was last read, whether it was accepted or refused.",
		}),
		success: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "portico_config_last_reload_success",
			Help: "1 if the configuration that was last read is in use, 0 if it was refused and the one before stays in use.",
		}),
		removed: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "portico_config_removed_credentials",
			Help: "Credentials that were removed from the configuration file but are still accepted, because the file was refused or the removal " +
				"needs a restart.",
		}),
	}
	r.MustRegister(c.generation, c.last, c.success, c.removed)
	return c
}

// Loaded records that a configuration with this number was applied.
func (c *Configuration) Loaded(generation int64, at time.Time) {
	c.generation.Set(float64(generation))
	c.last.Set(timestamp(at))
	c.success.Set(1)
}

// Refused records that a configuration was read but refused.
func (c *Configuration) Refused(at time.Time) {
	c.last.Set(timestamp(at))
	c.success.Set(0)
}

// Removed sets the number of credentials that are still accepted although the
// file no longer has them.
func (c *Configuration) Removed(credentials int) { c.removed.Set(float64(credentials)) }

// Certificates exports the expiry of the gateway's own certificates. It is
// safe for concurrent use.
type Certificates struct {
	expiry *prometheus.GaugeVec

	mu      sync.Mutex
	towards map[string]time.Time // expiry of certificates shown to providers, by use
}

// The uses of certificates.
const (
	ListenerCertificate = "listener" // of the public listener
	UpstreamCertificate = "upstream" // shown to providers
)

// NewCertificates registers the metric.
func NewCertificates(r prometheus.Registerer) *Certificates {
	c := &Certificates{expiry: prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "portico_certificate_expiry_timestamp_seconds",
		Help: "When a certificate of the gateway expires, by its use: listener (the public listener), upstream (shown to providers), or a " +
			"namespace (shown to this provider).",
	}, []string{"use"})}
	r.MustRegister(c.expiry)
	return c
}

// Use sets the expiry of the certificate for a use; the zero time removes it.
func (c *Certificates) Use(use string, ends time.Time) {
	if ends.IsZero() {
		c.expiry.DeleteLabelValues(use)
		return
	}
	c.expiry.WithLabelValues(use).Set(timestamp(ends))
}

// UseTowards sets the expiry of the certificates that providers are shown, by
// use; the zero time means none. It removes all other uses.
func (c *Certificates) UseTowards(ends map[string]time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for use := range c.towards {
		c.Use(use, ends[use])
	}
	for use, end := range ends {
		c.Use(use, end)
	}
	c.towards = ends
}

func timestamp(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
