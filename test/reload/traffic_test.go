package reload

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"testing"
	"time"

	"portico/test/harness"
)

// The kinds of calls that traffic makes.
const (
	get   = "GET"
	list  = "list"
	patch = "PATCH"
)

// clients call at a time, each once in a pause: a thousand calls a second, where the
// machine can.
const (
	clients = 16
	pause   = 16 * time.Millisecond
)

// traffic is clients that call until they are stopped. Half of their calls are GETs of a
// resource, the others lists and writes in equal parts. The answers are short: they come
// whole or not at all, wherever a connection ends.
type traffic struct {
	cancel context.CancelFunc
	parts  sync.WaitGroup

	mu       sync.Mutex
	calls    map[string]int
	slowest  map[string]time.Duration
	failures map[string][]string
}

// startTraffic calls a gateway about the machines of a group, one for each client, which
// are there.
func (s *site) startTraffic(t *testing.T) *traffic {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l := &traffic{cancel: cancel, calls: map[string]int{}, slowest: map[string]time.Duration{}, failures: map[string][]string{}}
	all := harness.Request{Path: s.GroupPath(group) + "/providers/Contoso.Compute/networkInterfaces?api-version=" + harness.Version}
	for i := range clients {
		machine := s.machine(i) + "?api-version=" + harness.Version
		kind, request := get, harness.Request{Path: machine}
		switch i % 4 {
		case 1:
			kind, request = list, all
		case 3:
			kind, request = patch, harness.Request{Method: http.MethodPatch, Path: machine, Body: `{"tags":{"a":"b"}}`}
		}
		l.parts.Go(func() { l.run(ctx, s.Portico, kind, request) })
	}
	t.Cleanup(l.stop)
	return l
}

func (l *traffic) run(ctx context.Context, p *harness.Portico, kind string, request harness.Request) {
	for ctx.Err() == nil {
		started := time.Now()
		a, err := p.Try(ctx, request)
		if ctx.Err() != nil {
			return // the end may have cut it off
		}
		l.count(kind, time.Since(started), a, err)
		select {
		case <-ctx.Done():
		case <-time.After(pause - time.Since(started)):
		}
	}
}

func (l *traffic) count(kind string, took time.Duration, a harness.Answer, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls[kind]++
	l.slowest[kind] = max(l.slowest[kind], took)
	if err != nil || a.Status != http.StatusOK {
		l.failures[kind] = append(l.failures[kind], fmt.Sprintf("%s after %v: %d %s %v", kind, took.Round(time.Millisecond), a.Status, a.Body, err))
	}
}

// more waits for so many further calls of each kind.
func (l *traffic) more(t *testing.T, n int) {
	t.Helper()
	before := l.counted()
	harness.Await(t, bound, "further calls", func() bool {
		now := l.counted()
		return now[get] >= before[get]+n && now[list] >= before[list]+n && now[patch] >= before[patch]+n
	})
}

func (l *traffic) counted() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := map[string]int{}
	maps.Copy(now, l.calls)
	return now
}

// total is the number of calls of all kinds.
func (l *traffic) total() (n int) {
	for _, of := range l.counted() {
		n += of
	}
	return n
}

// stop ends the clients.
func (l *traffic) stop() {
	l.cancel()
	l.parts.Wait()
}

// String says what was called, and what took longest of each kind.
func (l *traffic) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return fmt.Sprintf("%v calls, the slowest took %v", l.calls, l.slowest)
}

// lost returns how many calls of some kinds failed, and shows the first of them.
func (l *traffic) lost(t *testing.T, kinds ...string) int {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, kind := range kinds {
		n += len(l.failures[kind])
		for _, failure := range l.failures[kind][:min(3, len(l.failures[kind]))] {
			t.Log(failure)
		}
	}
	return n
}
