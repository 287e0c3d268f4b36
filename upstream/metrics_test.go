package upstream

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"portico/internal/sendguard"
	"portico/regions"
)

func TestErrorKind(t *testing.T) {
	dial := &net.OpError{Op: "dial", Err: errors.New("refused")}
	for kind, err := range map[string]error{
		"dns": fmt.Errorf("wrapped: %w", &net.OpError{Op: "dial", Err: &net.DNSError{}}), "connect": dial, "cancelled": errors.Join(dial, context.Canceled),
		"timeout": context.DeadlineExceeded, "tls": &tls.CertificateVerificationError{Err: errors.New("unknown")}, "unsent": errors.Join(sendguard.ErrTooLate, dial),
		"too_large": ErrTooLarge, "broken": io.ErrUnexpectedEOF,
	} {
		if got := ErrorKind(err); got != kind || !slices.Contains(errorKinds(), kind) {
			t.Errorf("%v: %s, want %s", err, got, kind)
		}
	}
}

// Each address of an endpoint has its own series: of what it answered, of what
// went wrong, and of its connections, as long as they are open.
func TestMetricsOfAddresses(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/broken" {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "short")
			return
		}
		w.WriteHeader(http.StatusTeapot)
	}))
	defer server.Close()
	target, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	client := newClient(t, Options{Metrics: prometheus.NewRegistry(), Identities: trusting(server)})
	endpoint := endpointOf(target)
	ask := func(method, path string) {
		t.Helper()
		answer, err := client.Do(t.Context(), Call{Endpoint: endpoint, Method: method, Path: path})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
	}
	for range 3 {
		ask(http.MethodPut, "/")
	}
	ask(http.MethodGet, "/broken")
	closed := &regions.Endpoint{Region: "eastus", URLs: []*url.URL{{Scheme: "http", Host: "127.0.0.1:1"}}}
	if answer, err := client.Do(t.Context(), Call{Endpoint: closed, Method: http.MethodGet, Path: "/"}); err == nil {
		answer.Body.Close()
		t.Error("somebody listens on port 1")
	}
	m, west := client.metrics, []string{"westus", target.Host}
	for name, c := range map[string]struct {
		got  prometheus.Collector
		want float64
	}{
		"writes": {m.requests.WithLabelValues(append(west, "PUT", "418")...), 3}, "reads": {m.requests.WithLabelValues(append(west, "GET", "200")...), 1},
		"broken": {m.errors.WithLabelValues(append(west, "broken")...), 1}, "connect": {m.errors.WithLabelValues("eastus", "127.0.0.1:1", "connect"), 1},
		"new": {m.connections.WithLabelValues(append(west, "new")...), 2}, "reused": {m.connections.WithLabelValues(append(west, "reused")...), 2},
		"in flight": {m.inFlight.WithLabelValues(west...), 0}, "expiry": {m.certificates.WithLabelValues(west...), float64(server.Certificate().NotAfter.Unix())},
	} {
		if got := testutil.ToFloat64(c.got); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if open := testutil.ToFloat64(m.open.WithLabelValues(west...)); open < 1 {
		t.Errorf("%v connections are open", open)
	}
	client.Close()
	for end := time.Now().Add(30 * time.Second); testutil.ToFloat64(m.open.WithLabelValues(west...)) > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("connections that were closed count as open")
		}
	}
}

// Time is counted once where calls run side by side, also for what surrounds
// them.
func TestTiming(t *testing.T) {
	var outer, inner Timing
	ctx := withTiming(withTiming(t.Context(), &outer), &inner)
	timing := timingOf(ctx)
	at := func(seconds int) time.Time { return time.Unix(int64(seconds), 0) }
	timing.call("a:1")
	timing.begin(at(0))
	timing.call("b:2")
	timing.begin(at(1))
	timing.end(at(3))
	timing.end(at(4))
	timing.begin(at(10))
	timing.end(at(11))
	for name, of := range map[string]*Timing{"outer": &outer, "inner": &inner} {
		if total, calls, address := of.Total(); total != 5*time.Second || calls != 2 || address != "b:2" {
			t.Errorf("%s: %v, %d, %s", name, total, calls, address)
		}
	}
	var none *Timing
	none.begin(at(0))
	none.call("x")
	none.end(at(1))
}

// The auditor receives calls of durable work, and no others.
func TestAudit(t *testing.T) {
	p := newPeer(t, statuses("", 202))
	client := newClient(t, Options{})
	var reported []string
	client.Audit(func(c Call, began time.Time, status int, err error) {
		reported = append(reported, fmt.Sprint(c.Job, c.Method, status, err == nil, time.Since(began) >= 0))
	})
	for _, job := range []string{"", "job"} {
		answer, err := client.Do(t.Context(), Call{Endpoint: p.endpoint(), Method: http.MethodDelete, Path: "/", Job: job})
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
	}
	if got := fmt.Sprint(reported); got != "[jobDELETE202 true true]" {
		t.Errorf("%s", got)
	}
}

// withTiming makes t, and the timing of an enclosing request, measure the calls made
// with the returned context.
func withTiming(ctx context.Context, t *Timing) context.Context {
	t.Within(ctx)
	return context.WithValue(ctx, TimingKey{}, t)
}
