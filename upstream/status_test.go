package upstream

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"portico/regions/health"
)

// What operators are told of an endpoint is what its calls met.
func TestStatusOfAnEndpoint(t *testing.T) {
	failing := newPeer(t, func(_ int, conn net.Conn) bool {
		_, err := io.WriteString(conn, "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n")
		return err == nil
	})
	client := newClient(t, Options{Health: quick(0)})
	some := endpointOf(failing.url(), refusing(t))
	before := client.Status(some)
	if before.State != Unknown || len(before.Addresses) != 2 || before.Addresses[0].State != Unknown || !before.Addresses[0].Since.IsZero() {
		t.Fatalf("%+v", before)
	}
	began := time.Now()
	for range 8 {
		_, _, _ = do(client, Call{Endpoint: some, Method: http.MethodGet, Path: "/"})
	}
	within(t, "an open circuit", func() bool {
		_, _, _ = do(client, Call{Endpoint: some, Method: http.MethodGet, Path: "/"})
		return client.Status(some).Addresses[1].Circuit != health.Closed
	})
	after := client.Status(some)
	bad, gone := after.Addresses[0], after.Addresses[1]
	if after.State != Degraded || bad.URL != failing.url().String() || bad.State == Unknown || bad.Requests != uint64(failing.count()) || bad.Failures != bad.Requests || bad.InFlight != 0 {
		t.Errorf("%+v", bad)
	}
	if gone.State != Down || gone.Reason == "" || gone.Since.Before(began.Add(-time.Second)) || gone.Since.After(time.Now()) || gone.Failures == 0 {
		t.Errorf("%+v", gone)
	}
	alone := endpointOf(refusing(t))
	within(t, "the end of an endpoint", func() bool {
		_, _, err := do(client, Call{Endpoint: alone, Method: http.MethodGet, Path: "/"})
		return errors.As(err, new(*health.Down))
	})
	if s := client.Status(alone); s.State != Down && s.Addresses[0].Circuit == health.Open {
		t.Errorf("%+v", s)
	}
	within(t, "a trial", func() bool { return client.Status(alone).Addresses[0].Circuit == health.HalfOpen })
	if s := client.Status(alone); s.State != Down {
		t.Errorf("nothing has connected: %+v", s)
	}
}

func TestStatusCountsWhatWasShed(t *testing.T) {
	p, release := held(t)
	client := newClient(t, Options{Calls: 2, CallsPerCaller: 1})
	var wait sync.WaitGroup
	for _, caller := range []string{"alice", "bob"} {
		wait.Go(func() {
			if err := try(context.Background(), client, p, http.MethodGet, "/", caller); err != nil {
				t.Error(err)
			}
		})
	}
	within(t, "two calls", func() bool { return p.count() == 2 })
	if s := client.Status(p.endpoint()); s.Shed != 0 || !s.LastShed.IsZero() || s.Addresses[0].InFlight != 2 {
		t.Errorf("%+v", s)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := try(ctx, client, p, http.MethodGet, "/", "carol"); !errors.Is(err, errEndpointBusy) {
		t.Error(err)
	}
	if s := client.Status(p.endpoint()); s.Shed != 1 || time.Since(s.LastShed) > time.Minute {
		t.Errorf("%+v", s)
	}
	release()
	wait.Wait()
}
