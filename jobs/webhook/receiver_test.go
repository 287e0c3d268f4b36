package webhook

import (
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"portico/config"
	"portico/events"
)

func sinkAt(t *testing.T, address string) *Sink {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return &Sink{Sink: config.Sink{Name: "s", URL: u, Batch: 1, Concurrency: 2, Timeout: 5 * time.Second}}
}

func send(t *testing.T, s *Sink) Outcome {
	t.Helper()
	r := newReceiver(s)
	defer r.close()
	outcome, err := r.deliver(t.Context(), []events.CloudEvent{{ID: "00000000-0000-0000-0000-000000000001"}})
	if err != nil {
		t.Fatal(err)
	}
	return outcome
}

// Whatever a receiver answers, it costs no more than its time and a bounded answer, and
// leads nowhere else.
func TestHostileReceivers(t *testing.T) {
	elsewhere := new(atomic.Int64)
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	status := func(code int, header ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i+1 < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(code)
		}
	}
	endless := func(w http.ResponseWriter, r *http.Request) {
		for chunk := []byte(strings.Repeat("x", 32<<10)); r.Context().Err() == nil; {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}
	hang := func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	reset := func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_ = conn.(*net.TCPConn).SetLinger(0)
		_ = conn.Close()
	}
	drip := func(w http.ResponseWriter, r *http.Request) { // a status, and then a byte now and then
		w.WriteHeader(http.StatusOK)
		for r.Context().Err() == nil {
			_, _ = w.Write([]byte("x"))
			_ = http.NewResponseController(w).Flush()
			time.Sleep(10 * time.Millisecond)
		}
	}
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"taken":              {status(204), outcomeDelivered},
		"redirected":         {status(307, "Location", other.URL), outcomeRedirected},
		"redirected for all": {status(301, "Location", other.URL), outcomeRedirected},
		"refused":            {status(400), outcomeRefused},
		"too large":          {status(413), outcomeRefused},
		"gone":               {status(410), outcomeDenied},
		"not signed":         {status(401), outcomeDenied},
		"not found":          {status(404), outcomeRejected},
		"too many":           {status(429, "Retry-After", "31536000"), outcomeThrottled},
		"down until":         {status(503, "Retry-After", "Fri, 31 Dec 2100 23:59:59 GMT"), outcomeThrottled},
		"odd Retry-After":    {status(503, "Retry-After", "-99999999999999999999"), outcomeFailed},
		"failed":             {status(500), outcomeFailed},
		"no status":          {status(999), outcomeFailed},
		"large header":       {status(200, "X", strings.Repeat("x", 2*maxAnswerHeader)), outcomeBroken},
		"endless":            {endless, outcomeDelivered},
		"hanging":            {hang, outcomeTimeout},
		"reset":              {reset, outcomeBroken},
		"dripping":           {drip, outcomeDelivered},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body) // so that the end of the connection is seen
				c.answer(w, r)
			}))
			defer server.Close()
			s := sinkAt(t, server.URL)
			if name == "hanging" || name == "dripping" {
				s.Timeout = 200 * time.Millisecond
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if got := send(t, s); got.Name != c.want {
				t.Errorf("%+v, want %s", got, c.want)
			}
			runtime.ReadMemStats(&after)
			if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
				t.Errorf("%d bytes were used", used)
			}
		})
	}
	if elsewhere.Load() != 0 {
		t.Error("a redirect was followed")
	}
}

func TestReceiversThatAreNotTrusted(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was sent an event") }))
	server.Config.ErrorLog = nil
	server.StartTLS()
	defer server.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	old := httptest.NewUnstartedServer(http.NotFoundHandler())
	old.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11} //nolint:gosec // what must be refused
	old.StartTLS()
	defer old.Close()
	for name, address := range map[string]string{
		"another authority": server.URL, "no TLS": strings.Replace(plain.URL, "http:", "https:", 1), "an old TLS": old.URL,
		"no listener": "http://127.0.0.1:1", "no host": "http://absent.invalid",
	} {
		got := send(t, sinkAt(t, address))
		if got.Name != outcomeUnreachable && !(name == "no TLS" && got.Name == outcomeBroken) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A message that is sent again has the same id, another one another.
func TestMessageIDs(t *testing.T) {
	e := func(n int) events.CloudEvent {
		return events.CloudEvent{ID: fmt.Sprintf("00000000-0000-0000-0000-%012d", n)}
	}
	seen := map[string]bool{}
	for _, all := range [][]events.CloudEvent{{e(1)}, {e(2)}, {e(1), e(2)}, {e(2), e(1)}, {e(1), e(2), e(3)}} {
		id := messageID(all)
		if seen[id] || messageID(all) != id {
			t.Errorf("%v: %s", all, id)
		}
		seen[id] = true
	}
	if messageID([]events.CloudEvent{e(1)}) != e(1).ID {
		t.Error("a message of one event has an id of its own")
	}
}

// The signature of the example in the Standard Webhooks' own libraries.
func TestSignature(t *testing.T) {
	header := http.Header{}
	secret, err := base64.StdEncoding.DecodeString("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	sign(header, [][]byte{secret, []byte("another secret of 24 byt")}, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	first, second, _ := strings.Cut(header.Get("webhook-signature"), " ")
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; first != want || !strings.HasPrefix(second, "v1,") || second == first {
		t.Errorf("%s, want %s and another", header.Get("webhook-signature"), want)
	}
	if header.Get("webhook-id") != "msg_p5jXN8AQM9LWM0D4loKWxJek" || header.Get("webhook-timestamp") != "1614265330" {
		t.Error(header)
	}
}
