package spans

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

// site is a queue before a collector that answers as a test likes.
type site struct {
	*testing.T
	queue    *Queue
	tracer   *Tracer
	registry *prometheus.Registry
	logged   *observer.ObservedLogs
	stop     func()
}

func newSite(t *testing.T, url string, o QueueOptions) *site {
	t.Helper()
	s := &site{T: t, registry: prometheus.NewRegistry()}
	var core zapcore.Core
	core, s.logged = observer.New(zap.InfoLevel)
	o.Metrics, o.Log = s.registry, zap.New(core)
	transport := &http.Transport{MaxConnsPerHost: 1}
	at, err := TracesURL(url)
	if err != nil {
		t.Fatal(err)
	}
	credentials := &CollectorCredentials{Transport: transport, Header: http.Header{"Authorization": {"Bearer secret"}}}
	s.queue = NewQueue(&Collector{URL: at, Credentials: func() *CollectorCredentials { return credentials }}, o)
	s.tracer = New(Options{Sampling: Sampling{Share: 1}, Ended: s.queue.Add})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { s.queue.Run(ctx) })
	s.stop = func() { cancel(); running.Wait() }
	t.Cleanup(s.stop)
	return s
}

func (s *site) end(n int) {
	for range n {
		s.tracer.Request(http.Header{}, false, time.Now()).End()
	}
}

func (s *site) count(outcome string) float64 {
	s.Helper()
	families, err := s.registry.Gather()
	if err != nil {
		s.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "portico_spans_total" && label(m) == outcome {
				return m.GetCounter().GetValue()
			}
		}
	}
	return 0
}

func label(m *dto.Metric) string {
	for _, l := range m.GetLabel() {
		return l.GetValue()
	}
	return ""
}

func (s *site) soon(what string, done func() bool) {
	s.Helper()
	for bound := time.Now().Add(time.Minute); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(bound) {
			s.Fatalf("not so: %s", what)
		}
	}
}

func usual() QueueOptions {
	return QueueOptions{Length: 100, Interval: time.Millisecond, Timeout: 10 * time.Second}
}

// A collector that answered 503 is sent the same again, with the headers of the file.
func TestRetry(t *testing.T) {
	var calls atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" || r.URL.Path != "/v1/traces" {
			t.Errorf("%s %v", r.URL.Path, r.Header)
		}
		if calls.Add(1) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	s := newSite(t, server.URL, usual())
	s.end(1)
	s.soon("it is sent", func() bool { return s.count(outcomeSent) == 1 })
	s.stop()
	if s.count(outcomeFailed) != 0 || s.count(outcomeDropped) != 0 {
		t.Error("it counts as lost as well")
	}
	if got := s.logged.Len(); got != 2 { // it began, and is over
		t.Errorf("%d lines", got)
	}
}

// The pause that a collector asks for, in seconds or by a date, is kept within a bound.
func TestRequestedPause(t *testing.T) {
	var asks string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", asks)
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	defer server.Close()
	c := &Collector{URL: server.URL, Credentials: func() *CollectorCredentials { return &CollectorCredentials{Transport: http.DefaultTransport} }}
	for requested, want := range map[string]time.Duration{
		"": 0, "soon": 0, "-5": 0, "7": 7 * time.Second, "3600": maxRetryAfter,
		time.Now().Add(time.Hour).UTC().Format(http.TimeFormat): maxRetryAfter, "Mon, 06 May 2024 07:08:09 GMT": 0,
	} {
		asks = requested
		if got := retryAfter(c.UploadTraces(t.Context(), nil)); got != want {
			t.Errorf("%q: %v, want %v", requested, got, want)
		}
	}
}

// What a collector refuses for good is not sent again, and logged once in a while; no
// secret is in the log.
func TestRefusal(t *testing.T) {
	var calls atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer server.Close()
	s := newSite(t, server.URL, usual())
	for i := range 5 {
		s.end(1)
		s.soon("it is refused", func() bool { return s.count(outcomeFailed) == float64(i+1) })
	}
	s.stop()
	if calls.Load() != 5 || s.logged.Len() != 1 {
		t.Errorf("%d calls, %d lines", calls.Load(), s.logged.Len())
	}
	for _, line := range s.logged.All() {
		if err, _ := line.ContextMap()["error"].(string); !strings.Contains(err, "401") || strings.Contains(err, "secret") {
			t.Errorf("%s", err)
		}
	}
}

// A collector that hangs costs those who end spans nothing: the queue is filled, more are
// dropped and counted, and the end does not wait for it for long.
func TestCollectorThatHangs(t *testing.T) {
	hang := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang }))
	defer server.Close()
	defer close(hang)
	s := newSite(t, server.URL, QueueOptions{Length: 100, Interval: time.Millisecond, Timeout: time.Minute})
	s.end(1)
	s.soon("the first one is on its way", func() bool { return len(s.queue.waiting) == 0 })
	s.end(5000)
	if dropped := s.count(outcomeDropped); dropped < 5000-100-batchLength {
		t.Errorf("%v dropped", dropped)
	}
	s.stop()
	if lost := s.count(outcomeDropped) + s.count(outcomeFailed); lost != 5001 {
		t.Errorf("%v of 5001 spans are counted", lost)
	}
}

// A collector that is not there is tried again, also at the end.
func TestCollectorThatIsGone(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + listener.Addr().String()
	listener.Close()
	s := newSite(t, url, usual())
	s.end(10)
	s.soon("it is logged", func() bool { return s.logged.Len() == 1 })
	s.stop()
	if lost := s.count(outcomeFailed); lost != 10 {
		t.Errorf("%v of 10 spans are counted", lost)
	}
}

// What ended before the end is sent.
func TestFlush(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	s := newSite(t, server.URL, QueueOptions{Length: 2000, Interval: time.Minute, Timeout: 10 * time.Second})
	s.end(1500)
	s.stop()
	if sent := s.count(outcomeSent); sent != 1500 {
		t.Errorf("%v of 1500 spans are sent", sent)
	}
}

// An endless answer, and a redirect, end no better than a refusal.
func TestHostileAnswers(t *testing.T) {
	var elsewhere atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/endless"):
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
		case strings.HasPrefix(r.URL.Path, "/redirect"):
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		default:
			elsewhere.Add(1)
		}
	}))
	defer server.Close()
	s := newSite(t, server.URL+"/redirect", usual())
	s.end(1)
	s.soon("it is refused", func() bool { return s.count(outcomeFailed) == 1 })
	s.stop()
	s = newSite(t, server.URL+"/endless", usual())
	s.end(1)
	s.soon("it is taken as sent", func() bool { return s.count(outcomeSent) == 1 })
	s.stop()
	if elsewhere.Load() > 0 {
		t.Error("a redirect was followed")
	}
}
