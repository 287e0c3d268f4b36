package wire

import (
	"bufio"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"portico/test/harness"
)

const lockPlace = "/providers/Microsoft.Authorization/locks/l?api-version=2020-05-01"

// bounded starts a gateway whose locks wait that long for calls in progress, and whose
// unanswered writes stay open longer than any test lasts.
func (w *world) bounded(t *testing.T, wait string) gateway {
	t.Helper()
	return w.start(t, "", func(configuration string) string {
		return strings.Replace(configuration, "pollFloor: 1h", "pollFloor: 1h, lateWriteWindow: 2h, askTimeout: "+wait, 1)
	})
}

// lock puts a lock on a scope.
func (g gateway) lock(t *testing.T, scope, level string) reply {
	t.Helper()
	return g.send(t, message{method: "PUT", target: scope + lockPlace, body: `{"properties":{"level":"` + level + `"}}`})
}

// refused sends a write that a lock must refuse.
func (g gateway) refused(t *testing.T, method, target, body string) {
	t.Helper()
	if got := g.must(t, message{method: method, target: target, body: body}, 409); got.failure(t).Error.Code != "ScopeLocked" {
		t.Errorf("%s %s: %s", method, target, got)
	}
}

// The PUT of a lock waits for calls in progress, up to a bound, and never for writes of
// unknown outcome.
func testLocks(t *testing.T, w *world) {
	const q = "?" + V
	t.Run("a write without an answer holds no lock up", func(t *testing.T) {
		g := w.bounded(t, "1h") // if a lock waited for it, the test would end first
		a, b := g.group(t, "locks-a"), g.group(t, "locks-b")
		broken, other := a+"/providers/Contoso.Raw/things/locks-broken", g.thing(t, b, "locks-other", "westus")
		w.scripted["westus"].on(broken, always(ok(500, `{"error":{"code":"Broken","message":"m"}}`)))
		g.must(t, message{method: "PUT", target: broken + q, body: located("westus")}, 500)
		g.must(t, message{method: "DELETE", target: broken + q}, 500)
		for i, level := range []string{"CanNotDelete", "ReadOnly"} {
			if got := g.lock(t, S, level); got.status != []int{201, 200}[i] || !strings.Contains(string(got.body), level) {
				t.Fatalf("%s: %s", level, got)
			}
			g.refused(t, "DELETE", other+q, "")
		}
		g.refused(t, "PUT", other+q, located("westus"))
	})
	t.Run("a call under way is waited for", func(t *testing.T) {
		g := w.bounded(t, "1h")
		group := g.group(t, "locks-waits")
		slow, free := group+"/providers/Contoso.Raw/things/locks-slow", g.thing(t, group, "locks-free", "westus")
		var ended atomic.Bool
		called, release := w.holds(slow, &ended)
		defer release()
		written := g.begin(t, message{method: "PUT", target: slow + q, body: located("westus")}, 201, nil)
		harness.OK(t, await(t, "the provider's call", called))
		locked := g.begin(t, message{method: "PUT", target: S + lockPlace, body: `{"properties":{"level":"ReadOnly"}}`}, 201, func() error {
			if !ended.Load() {
				return errors.New("the lock was answered before the provider had answered the PUT")
			}
			return nil
		})
		for deadline := time.Now().Add(patience); g.send(t, message{target: S + lockPlace}).status != 200; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("the lock is not recorded")
			}
		}
		g.refused(t, "PUT", free+q, located("westus")) // in force immediately
		// A lock that waits for nothing would have been answered meanwhile, so the other one
		// waits.
		if got := g.lock(t, free, "CanNotDelete"); got.status != 201 {
			t.Fatal(got)
		}
		release()
		for _, answer := range []chan error{written, locked} {
			if err := await(t, "an answer", answer); err != nil {
				t.Error(err)
			}
		}
	})
	t.Run("but no longer than the bound", func(t *testing.T) {
		g := w.bounded(t, "100ms")
		group := g.group(t, "locks-bound")
		stuck := group + "/providers/Contoso.Raw/things/locks-stuck"
		var ended atomic.Bool
		called, release := w.holds(stuck, &ended)
		defer release()
		written := g.begin(t, message{method: "PUT", target: stuck + q, body: located("westus")}, 201, nil)
		harness.OK(t, await(t, "the provider's call", called))
		if got := g.lock(t, S, "ReadOnly"); got.status != 201 || ended.Load() {
			t.Errorf("the provider's call has ended: %v; %s", ended.Load(), got)
		}
		g.refused(t, "PUT", stuck+q, located("westus"))
		release()
		if err := await(t, "an answer", written); err != nil {
			t.Error(err)
		}
	})
}

// holds makes the provider delay its answers about a resource until release; it signals
// the first call and the end.
func (w *world) holds(resource string, ended *atomic.Bool) (called chan error, release func()) {
	called, open := make(chan error, 1), make(chan struct{})
	w.scripted["westus"].on(resource, func(x received) string {
		select {
		case called <- nil:
		default:
		}
		<-open
		ended.Store(true)
		return ok(201, fmt.Sprintf(`{"id":%q,"name":"n","type":"Contoso.Raw/things","location":"westus","properties":{}}`, resource))
	})
	released := false
	return called, func() {
		if !released {
			released = true
			close(open)
		}
	}
}

// begin sends a message whose answer is awaited later and must have a status. check,
// unless nil, inspects the answer on arrival.
func (g gateway) begin(t *testing.T, m message, status int, check func() error) chan error {
	t.Helper()
	c, answered := dial(t, g.address), make(chan error, 1)
	go func() {
		_, err := c.Write(m.bytes(g.address))
		if err != nil {
			answered <- err
			return
		}
		got, err := readReply(bufio.NewReader(c), m.verb())
		switch {
		case err == nil && got.status != status:
			err = fmt.Errorf("%s %s: want %d, got %s", m.verb(), m.target, status, got)
		case err == nil && check != nil:
			err = check()
		}
		answered <- err
	}()
	return answered
}

// await returns a channel's value within a bound.
func await(t *testing.T, what string, from chan error) error {
	t.Helper()
	select {
	case err := <-from:
		return err
	case <-time.After(patience):
		return fmt.Errorf("%s: not within the bound", what)
	}
}
