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

	"portico/arm"
)

// held holds the first two calls open until release, and answers others at once.
func held(t *testing.T) (p *peer, release func()) {
	t.Helper()
	open := make(chan struct{})
	release = sync.OnceFunc(func() { close(open) })
	p = newPeer(t, func(n int, conn net.Conn) bool {
		if n <= 2 {
			<-open
		}
		_, err := io.WriteString(conn, empty200)
		return err == nil
	})
	t.Cleanup(release) // before the peer waits for its calls
	return p, release
}

func try(ctx context.Context, c *Client, p *peer, method, path, caller string) error {
	response, err := c.Do(ctx, Call{Endpoint: p.endpoint(), Method: method, Path: path, Caller: caller})
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// A caller whose calls are held up, and Portico's own work, leave slots to each other
// and to everybody else; reads, writes and questions have slots of their own.
func TestCallsAreShared(t *testing.T) {
	for _, method := range []string{http.MethodGet, http.MethodPut, "question"} {
		for _, greedy := range []string{"alice", ""} {
			t.Run(method+" of "+greedy, func(t *testing.T) {
				p, release := held(t)
				client := newClient(t, Options{Calls: 4, CallsPerCaller: 2, Readers: 4, ReadersPerCaller: 2})
				call := func(ctx context.Context, path, caller string) error {
					if method != "question" {
						return try(ctx, client, p, method, path, caller)
					}
					_, err := client.Read(ctx, Call{Endpoint: p.endpoint(), Path: path, Caller: caller})
					return err
				}
				var wait sync.WaitGroup
				for range 6 {
					wait.Go(func() {
						if err := call(context.Background(), "/", greedy); err != nil {
							t.Error(err)
						}
					})
				}
				tally := &client.calling
				if method == "question" {
					tally = &client.reading
				}
				for tally.Waiting() < 4 || p.count() < 2 {
					time.Sleep(time.Millisecond)
				}
				for _, other := range []string{"bob", "alice", ""} {
					if other == greedy {
						continue
					}
					if err := call(context.Background(), "/", other); err != nil {
						t.Errorf("%q: %v", other, err)
					}
				}
				ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
				defer cancel()
				err := call(ctx, "/", greedy)
				fault := faultOf(t, err)
				if said := fault.ARM("Contoso.Test"); fault.Sent || !errors.Is(err, errCallerBusy) || said.Status != http.StatusTooManyRequests || said.Code != arm.TooManyRequests || said.RetryAfter == 0 {
					t.Errorf("%+v: %+v", fault, said)
				}
				release()
				wait.Wait()
			})
		}
	}
}

// Where all callers together hold all slots, the next one is told so.
func TestEndpointIsBusy(t *testing.T) {
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
	for p.count() < 2 {
		time.Sleep(time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	err := try(ctx, client, p, http.MethodGet, "/", "carol")
	if said := faultOf(t, err).ARM("Contoso.Test"); !errors.Is(err, errEndpointBusy) || said.Status != http.StatusServiceUnavailable || said.Code != arm.ServerBusy || said.RetryAfter == 0 {
		t.Errorf("%v: %+v", err, said)
	}
	if err := try(context.Background(), client, p, http.MethodPut, "/", "carol"); err != nil {
		t.Errorf("writes wait for reads: %v", err)
	}
	release()
	wait.Wait()
}

// A call gives its slot back once: when its answer has been read, when it is closed,
// or when there is none.
func TestSlotsComeBack(t *testing.T) {
	p := newPeer(t, reply(empty200))
	silent := newPeer(t, func(_ int, _ net.Conn) bool { return false })
	client := newClient(t, Options{Calls: 1})
	for range 3 {
		response, err := client.Do(context.Background(), Call{Endpoint: p.endpoint(), Method: http.MethodGet, Path: "/", Caller: "a"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			t.Fatal(err)
		}
		if err := try(context.Background(), client, p, http.MethodGet, "/", "b"); err != nil {
			t.Fatal(err) // the first answer is read, and not closed
		}
		_ = response.Body.Close()
		_ = response.Body.Close()
		if err := try(context.Background(), client, silent, http.MethodGet, "/", "a"); err == nil {
			t.Fatal("there was an answer")
		}
	}
}
