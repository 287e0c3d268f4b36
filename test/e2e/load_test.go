package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"portico/test/harness"
)

// load is clients that call without a pause, one connection each, until they
// are stopped. A call that gets no answer, or another than it has to, is a
// failure.
type load struct {
	cancel context.CancelFunc
	parts  sync.WaitGroup

	mu       sync.Mutex
	calls    int
	failures []string
}

const loadClients = 6

// startLoad calls what listens at base. Each client has a machine of its own in
// the group, which is to be there.
func startLoad(t *testing.T, w *harness.World, base, group string) *load {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l := &load{cancel: cancel}
	for i := range loadClients {
		region := harness.RegionNames()[i%2] // those that no test takes away
		at := w.ResourcePath(group, fmt.Sprintf("Contoso.Compute/virtualMachines/load-%d", i))
		w.Portico.Do(t, harness.Request{Method: http.MethodPut, Path: at + "?api-version=" + harness.Version, Body: body(region)}).Want(t, 201)
		l.parts.Go(func() { l.run(ctx, w, base, group, at, region) })
	}
	t.Cleanup(func() { cancel(); l.parts.Wait() })
	return l
}

func (l *load) run(ctx context.Context, w *harness.World, base, group, at, region string) {
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}
	defer client.CloseIdleConnections()
	const version = "?api-version=" + harness.Version
	calls := []struct{ method, path, body string }{
		{http.MethodGet, at + version, ""},
		{http.MethodPut, at + version, body(region)},
		{http.MethodGet, w.GroupPath(group) + "/providers/Contoso.Compute/virtualMachines" + version, ""},
		{http.MethodPatch, at + version, `{"tags":{"a":"b"}}`},
		{http.MethodGet, w.GroupPath(group) + "?api-version=2021-04-01", ""},
	}
	for i := 0; ctx.Err() == nil; i++ {
		c := calls[i%len(calls)]
		err := callOnce(ctx, client, c.method, base+c.path, c.body)
		if ctx.Err() != nil {
			return // it may have been cut off by the end
		}
		l.mu.Lock()
		l.calls++
		if err != nil && len(l.failures) < 20 {
			l.failures = append(l.failures, fmt.Sprintf("%s %s %s: %v", time.Now().Format(time.RFC3339Nano), c.method, c.path, err))
		}
		l.mu.Unlock()
	}
}

func callOnce(ctx context.Context, client *http.Client, method, url, content string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(content))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %s", answer.StatusCode, text)
	}
	return err
}

// more waits until the clients have made some more calls, so that what happens
// next happens among calls.
func (l *load) more(t *testing.T) {
	t.Helper()
	created := func() int {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.calls
	}
	before := created()
	soon(t, "calls of the load", func() bool { return created() >= before+2*loadClients })
}

// end stops the clients; the test fails if one of their calls did.
func (l *load) end(t *testing.T) {
	t.Helper()
	l.cancel()
	l.parts.Wait()
	t.Logf("%d calls, %d of them failed", l.calls, len(l.failures))
	for _, failure := range l.failures {
		t.Error(failure)
	}
}
