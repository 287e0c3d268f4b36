package upgrade

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"portico/test/harness"
)

const (
	clients  = 4
	machines = "Contoso.Compute/virtualMachines/"
	version  = "?api-version=" + harness.Version
	own      = "?api-version=2021-04-01"
)

// load is clients that write without a pause until they are stopped. Each has a group of
// its own and knows what it holds. Every call is to be answered as it would be by one
// version that runs alone.
type load struct {
	world  *harness.World
	base   string
	cancel context.CancelFunc
	parts  sync.WaitGroup

	mu       sync.Mutex
	rounds   int
	calls    int
	failures []string
	holds    map[string]held // by ID
}

// held is what was acknowledged of a resource.
type held struct {
	Region string
	Value  int
	Tag    string
}

func startLoad(t *testing.T, w *harness.World, base string) *load {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l := &load{world: w, base: base, cancel: cancel, holds: map[string]held{}}
	for i := range clients {
		group := fmt.Sprintf("load-%d", i)
		w.PutGroup(t, group)
		l.parts.Go(func() { l.work(ctx, group) })
	}
	t.Cleanup(func() { cancel(); l.parts.Wait() })
	return l
}

// work goes through the life of one resource after another. One in three stays.
func (l *load) work(ctx context.Context, group string) {
	c := caller{load: l, client: &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}}
	defer c.client.CloseIdleConnections()
	for n := 0; ctx.Err() == nil && c.err == nil; n++ {
		c.life(group, n)
		l.mu.Lock()
		l.rounds++
		l.mu.Unlock()
	}
	if c.err != nil {
		l.mu.Lock()
		l.failures = append(l.failures, fmt.Sprintf("%s: %v", time.Now().Format(time.RFC3339Nano), c.err))
		l.mu.Unlock()
	}
}

// life creates a resource, changes it, and finds it by GET and in lists.
func (c *caller) life(group string, n int) {
	is := held{Region: harness.RegionNames()[n%3], Value: n}
	id := c.load.world.ResourcePath(group, fmt.Sprintf("%svm-%d", machines, n))
	content := func() string {
		return fmt.Sprintf(`{"location":%q,"tags":{"round":%q},"properties":{"value":%d}}`, is.Region, is.Tag, is.Value)
	}
	var form []string
	if n%4 == 3 {
		form = []string{"X-Contoso-Async", "accepted-async", "X-Contoso-Duration", "100ms"}
	}
	is.Tag = "first"
	c.write(http.MethodPut, id+version, content(), form, 201)
	c.hold(id, is)
	c.shows(id, is)
	is.Value++
	c.write(http.MethodPut, id+version, content(), nil, 200)
	c.hold(id, is)
	is.Tag = fmt.Sprint("round ", n)
	c.write(http.MethodPatch, id+version, fmt.Sprintf(`{"tags":{"round":%q}}`, is.Tag), nil, 200)
	c.hold(id, is)
	c.shows(id, is)
	for _, list := range []string{"/providers/" + strings.TrimSuffix(machines, "/") + version, "/resources" + own} {
		if c.lists(c.load.world.GroupPath(group)+list, id); c.err != nil {
			return
		}
	}
	if n%3 == 0 {
		return
	}
	c.write(http.MethodDelete, id+version, "", nil, 200)
	c.forget(id)
	c.call(http.MethodGet, id+version, "", nil, 404)
}

// caller makes one call after another, until one is not answered as it has to be.
type caller struct {
	load   *load
	client *http.Client
	err    error
}

func (c *caller) hold(id string, is held) {
	c.load.mu.Lock()
	defer c.load.mu.Unlock()
	if c.err == nil {
		c.load.holds[id] = is
	}
}

func (c *caller) forget(id string) {
	c.load.mu.Lock()
	defer c.load.mu.Unlock()
	if c.err == nil {
		delete(c.load.holds, id)
	}
}

// write makes a call that changes something, and waits for the end of what it began.
func (c *caller) write(method, path, content string, form []string, want int) {
	if len(form) == 0 {
		c.call(method, path, content, nil, want)
		return
	}
	_, header := c.call(method, path, content, form, 202)
	for end := time.Now().Add(time.Minute); c.err == nil; time.Sleep(50 * time.Millisecond) {
		at, err := url.Parse(header.Get("Azure-AsyncOperation"))
		if err != nil || at.Path == "" {
			c.err = fmt.Errorf("%s %s: no polling URL: %v", method, path, header)
			return
		}
		text, _ := c.call(http.MethodGet, at.RequestURI(), "", nil, 200)
		var operation struct{ Status string }
		if c.err == nil {
			c.err = json.Unmarshal(text, &operation)
		}
		if operation.Status == "Succeeded" {
			return
		}
		if time.Now().After(end) {
			c.err = fmt.Errorf("%s %s: it ended in a minute no better than %s", method, path, text)
		}
	}
}

// shows reads a resource.
func (c *caller) shows(id string, is held) {
	text, _ := c.call(http.MethodGet, id+version, "", nil, 200)
	if c.err == nil {
		c.err = is.differs(text)
	}
}

func (h held) differs(text []byte) error {
	var shown struct {
		Location   string
		Tags       map[string]string
		Properties struct{ Value int }
	}
	if err := json.Unmarshal(text, &shown); err != nil {
		return err
	}
	if got := (held{shown.Location, shown.Properties.Value, shown.Tags["round"]}); got != h {
		return fmt.Errorf("it shows %+v, acknowledged was %+v", got, h)
	}
	return nil
}

// lists wants a resource in a list, which has all of its pages read.
func (c *caller) lists(path, id string) {
	ids := c.pages(path)
	if c.err == nil && !slices.Contains(ids, id) {
		c.err = fmt.Errorf("GET %s: lacks %s", path, id)
	}
}

func (c *caller) pages(path string) (ids []string) {
	for path != "" && c.err == nil {
		text, _ := c.call(http.MethodGet, path, "", nil, 200)
		var page struct {
			Value    []struct{ ID string }
			NextLink string
		}
		if c.err != nil {
			return nil
		}
		if c.err = json.Unmarshal(text, &page); c.err != nil {
			return nil
		}
		for _, r := range page.Value {
			ids = append(ids, r.ID)
		}
		path = ""
		if page.NextLink != "" {
			next, err := url.Parse(page.NextLink)
			if c.err = err; err == nil {
				path = next.RequestURI()
			}
		}
	}
	return ids
}

func (c *caller) call(method, path, content string, form []string, want int) ([]byte, http.Header) {
	if c.err != nil {
		return nil, nil
	}
	c.load.mu.Lock()
	c.load.calls++
	c.load.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, c.load.base+path, strings.NewReader(content))
	if err != nil {
		c.err = err
		return nil, nil
	}
	r.Header = harness.Header(append([]string{"Content-Type", "application/json"}, form...)...)
	answer, err := c.client.Do(r)
	if err != nil {
		c.err = err
		return nil, nil
	}
	text, err := io.ReadAll(answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err == nil && answer.StatusCode != want {
		err = fmt.Errorf("%s %s: status %d, want %d: %s", method, path, answer.StatusCode, want, text)
	}
	c.err = err
	return text, answer.Header
}

// more waits until clients have gone through some more lives, so that what happens
// next happens among calls.
func (l *load) more(t *testing.T) {
	t.Helper()
	created := func() (int, string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.rounds, strings.Join(l.failures, "\n")
	}
	before, _ := created()
	harness.Await(t, bound, "more calls", func() bool {
		now, failures := created()
		if failures != "" {
			t.Fatal(failures)
		}
		return now >= before+2*clients
	})
}

// end stops the clients, each at the end of a life.
func (l *load) end(t *testing.T) {
	t.Helper()
	l.cancel()
	l.parts.Wait()
	t.Logf("%d calls, %d resources stay", l.calls, len(l.holds))
	for _, failure := range l.failures {
		t.Error(failure)
	}
}
