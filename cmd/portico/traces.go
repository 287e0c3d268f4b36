package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"net/textproto"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"portico/config"
	"portico/internal/pemfile"
	"portico/jobs"
	"portico/tracing/spans"
)

const (
	lastSpansTime = 4 * time.Second // for the last spans
	// The idle time of a collector's connections.
	collectorIdle = time.Minute
	// maxCollectorHeaders bounds the file of headers.
	maxCollectorHeaders = 32
)

// traces records and sends spans. It is empty if no collector is configured.
type traces struct {
	tracer      *spans.Tracer
	queue       *spans.Queue
	credentials atomic.Pointer[spans.CollectorCredentials]
}

// collectorAccess holds the credentials for calls to the collector, and the authorities
// that were read from their file.
type collectorAccess struct {
	credentials *spans.CollectorCredentials
	authorities []*x509.Certificate
}

// open sets up what the configuration asks for.
func (t *traces) open(c *config.Config, by collectorAccess, log *zap.Logger, metrics prometheus.Registerer) error {
	if c.Tracing.OTLP == "" {
		return nil
	}
	url, err := spans.TracesURL(c.Tracing.OTLP)
	if err != nil {
		return err
	}
	t.credentials.Store(by.credentials)
	t.queue = spans.NewQueue(&spans.Collector{URL: url, Credentials: t.credentials.Load}, spans.QueueOptions{
		Length: c.Tracing.Queue, Interval: c.Tracing.Interval, Timeout: c.Tracing.Timeout, Metrics: metrics, Log: log,
	})
	t.tracer = spans.New(spans.Options{Sampling: samplingOf(c), Resource: resourceOf(c), Ended: t.queue.Add})
	return nil
}

// use applies another configuration, except for what needs a restart.
func (t *traces) use(c *config.Config, by collectorAccess) {
	if t.queue == nil {
		return
	}
	t.tracer.Sample(samplingOf(c))
	if before := t.credentials.Swap(by.credentials); before.Transport != by.credentials.Transport {
		before.Transport.(*http.Transport).CloseIdleConnections()
	}
}

func samplingOf(c *config.Config) spans.Sampling {
	return spans.Sampling{Share: float64(c.Tracing.Sample), Callers: c.Tracing.CallersPerSecond}
}

// resourceOf returns the attributes of this gateway that all spans carry.
func resourceOf(c *config.Config) map[string]string {
	of := map[string]string{}
	for _, a := range c.Tracing.Attributes {
		of[a.Name] = a.Value
	}
	of["service.name"], of["service.instance.id"], of["cloud.region"] = c.Tracing.Service, c.Tracing.Instance, c.Server.Region
	if of["service.instance.id"] == "" {
		of["service.instance.id"] = jobs.NewOwner()
	}
	return of
}

// send exports spans until end is called, which waits a while for the last ones.
func (t *traces) send(ctx context.Context) (end func()) {
	if t.queue == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		t.queue.Run(ctx)
	}()
	return func() {
		cancel()
		select {
		case <-sent:
		case <-time.After(lastSpansTime):
		}
	}
}

// readCollectorAccess reads the files of a configuration. It keeps the connections if the
// authorities have not changed.
func readCollectorAccess(c config.Tracing, before collectorAccess) (a collectorAccess, err error) {
	if c.OTLP == "" {
		return a, nil
	}
	a.credentials = &spans.CollectorCredentials{}
	var pool *x509.CertPool // nil: the system's
	if c.CA != "" {
		if a.authorities, err = pemfile.Certificates(c.CA); err != nil {
			return a, config.Faults{fileFault(c.CA, "tracing.ca", err)}
		}
		pool = pemfile.PoolOf(a.authorities)
	}
	if c.HeadersFile != "" {
		if a.credentials.Header, err = readCollectorHeaders(c.HeadersFile); err != nil {
			return a, err
		}
	}
	if before.credentials != nil && slices.EqualFunc(a.authorities, before.authorities, (*x509.Certificate).Equal) {
		a.credentials.Transport = before.credentials.Transport
		return a, nil
	}
	a.credentials.Transport = &http.Transport{
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}, ForceAttemptHTTP2: true,
		MaxConnsPerHost: 1, IdleConnTimeout: collectorIdle, TLSHandshakeTimeout: c.Timeout, DisableCompression: true,
	}
	return a, nil
}

// readCollectorHeaders reads a file of headers, which holds secrets.
func readCollectorHeaders(path string) (http.Header, error) {
	text, err := os.ReadFile(path)
	header := http.Header{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		name, value, found := strings.Cut(line, ":")
		name, value = textproto.CanonicalMIMEHeaderKey(name), strings.TrimSpace(value)
		if !found || name == "" || !isHeaderValue(value) || !isHeaderValue(name) || strings.Contains(name, " ") || len(header) == maxCollectorHeaders {
			err = errors.New("a line is not a header")
			break
		}
		header[name] = []string{value}
	}
	if err == nil && len(header) == 0 {
		err = errors.New("it has no headers")
	}
	if err != nil {
		fault := fileFault(path, "tracing.headersFile", err)
		fault.Allowed = "a file with headers such as Authorization: Bearer and a token, one on each line"
		return nil, config.Faults{fault}
	}
	return header, nil
}
