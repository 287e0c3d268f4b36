package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"portico/test/harness"
)

// event is what the test wants of an event of the change feed.
type event struct {
	ID       string    `json:"id"`
	Type     string    `json:"type"`
	Time     time.Time `json:"time"`
	Subject  string    `json:"subject"`
	Sequence string    `json:"sequence"`
	Data     struct {
		Operation string `json:"operationName"`
		Status    string `json:"status"`
		Exists    any    `json:"exists"` // true or false; nil: the event does not tell
		Origin    string `json:"origin"`

		CorrelationID string `json:"correlationId"`
	} `json:"data"`
}

// number is the event's place in the feed, 0 where it is none.
func (e event) number() int {
	n, _ := strconv.Atoi(e.Sequence)
	return n
}

// consumer follows the change feed by whichever gateway answers, while everything fails.
type consumer struct {
	site     *site
	random   *rand.Rand
	token    string
	seen     []event
	failures int // pages that did not come

	mu       sync.Mutex
	promised []promise
	away     []time.Time // when faults of the store began
}

// promise is an answer that says that something has changed.
type promise struct {
	at                     time.Time
	key, correlation, what string
}

// mustBeReported reports whether an answer says that a resource or a group was written.
func mustBeReported(r harness.Request, a harness.Answer) bool {
	path, _, _ := strings.Cut(strings.ToLower(r.Path), "?")
	return (r.Method == http.MethodPut || r.Method == http.MethodPatch) && a.Status < http.StatusMultipleChoices && replayed(path) &&
		(strings.Count(path, "/") == 4 || strings.Count(path, "/") == 8)
}

func (c *consumer) promise(r harness.Request, a harness.Answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key, _, _ := strings.Cut(strings.ToLower(r.Path), "?")
	what := fmt.Sprintf("%s %s: %d", r.Method, r.Path, a.Status)
	c.promised = append(c.promised, promise{time.Now(), key, a.Header.Get("X-Ms-Correlation-Request-Id"), what})
}

// storeAway notes that a fault of the store begins.
func (c *consumer) storeAway() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.away = append(c.away, time.Now())
}

// mayBeLost reports whether the store may have been away when an answer came, or may have
// crashed before what it means was on disk.
func (c *consumer) mayBeLost(p promise) bool {
	return slices.ContainsFunc(c.away, func(started time.Time) bool {
		return p.at.After(started.Add(-3*time.Second)) && p.at.Before(started.Add(longestPause+storeWait))
	})
}

// clockError is by how much the clocks of the test and of the store may differ.
const clockError = 2 * time.Second

// broken lists the promises of which no event tells. Where the store was away when the
// answer came, or crashed before that was on disk, a later event says what a GET has found,
// that no one knows, or that the resource has gone.
func (c *consumer) broken() (wrong []string) {
	reported, later := map[string]bool{}, map[string]time.Time{}
	for _, e := range c.seen {
		reported[e.Data.CorrelationID] = true
		gone := e.Data.Status == "Succeeded" && strings.HasSuffix(e.Data.Operation, "/delete")
		if gone || e.Data.Origin != "answer" && e.Data.Origin != "portico" {
			later[strings.ToLower(e.Subject)] = e.Time
		}
	}
	for _, p := range c.promised {
		if !reported[p.correlation] && (!c.mayBeLost(p) || later[p.key].Before(p.at.Add(-clockError))) {
			wrong = append(wrong, fmt.Sprintf("at %v, %s (%s)", p.at, p.what, p.correlation))
		}
	}
	return wrong
}

const feedPage = 50

// follow reads pages until ctx ends.
func (c *consumer) follow(ctx context.Context) {
	for ctx.Err() == nil {
		n, err := c.read(ctx)
		if err != nil {
			c.failures++
		}
		if n < feedPage {
			pause(ctx, 50*time.Millisecond)
		}
	}
}

// read reads a page and returns how many events it had.
func (c *consumer) read(ctx context.Context) (int, error) {
	path := fmt.Sprintf("/admin/changes?limit=%d&after=%s", feedPage, c.token)
	a, err := c.site.gateways[c.random.IntN(len(c.site.gateways))].TryAdmin(ctx, harness.Request{Method: http.MethodGet, Path: path})
	if err != nil {
		return 0, err
	}
	if a.Status != http.StatusOK {
		return 0, fmt.Errorf("status %d: %s", a.Status, a.Body)
	}
	var page struct {
		Value []event `json:"value"`
		Next  string  `json:"next"`
	}
	if err := json.Unmarshal(a.Body, &page); err != nil {
		return 0, err
	}
	c.token, c.seen = page.Next, append(c.seen, page.Value...)
	return len(page.Value), nil
}

// rest reads what is left, without faults.
func (c *consumer) rest(t *testing.T) {
	t.Helper()
	for {
		switch n, err := c.read(t.Context()); {
		case err != nil:
			t.Fatal(err)
		case n == 0:
			return
		}
	}
}

// checkEvents checks that the consumer has seen each event once and in order, that
// another one who begins now sees the same, so that none has appeared behind a token, and
// that what the events say, replayed, is what the index holds.
func (r *run) checkEvents(t *testing.T) {
	t.Helper()
	r.consumer.rest(t)
	seen := r.consumer.seen
	ids := map[string]int{}
	for i, e := range seen {
		if e.number() != i+1 {
			t.Fatalf("the event %d of the feed has the number %s", i+1, e.Sequence)
		}
		if other := ids[e.ID]; other != 0 {
			t.Errorf("the events %d and %d are the same", other, i+1)
		}
		ids[e.ID] = i + 1
	}
	late := &consumer{site: r.site, random: r.consumer.random}
	late.rest(t)
	if i := firstDifference(seen, late.seen); i >= 0 {
		t.Errorf("the feed has changed behind a token, from the event %d on: %d events were read, now there are %d", i+1, len(seen), len(late.seen))
	}
	for _, wrong := range r.site.untold(t, seen) {
		t.Errorf("events and index differ: %s", wrong)
	}
	for _, wrong := range r.consumer.broken() {
		t.Errorf("no event tells of what was answered: %s", wrong)
	}
	r.count.note("feed", "answers whose events were looked for", fmt.Sprint(len(r.consumer.promised)))
	r.count.note("feed", "events", fmt.Sprint(len(seen)))
	r.count.note("feed", "pages without an answer", fmt.Sprint(r.consumer.failures))
}

// firstDifference returns the first place at which two feeds differ, -1 for none.
func firstDifference(a, b []event) int {
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			return i
		}
	}
	return -1
}

// untold compares what events say of resources and groups with what the index holds, and
// lists the differences.
func (s *site) untold(t *testing.T, seen []event) (wrong []string) {
	t.Helper()
	rows, err := s.rows(t.Context())
	harness.OK(t, err)
	stands := map[string]bool{}
	for key := range rows {
		stands[key] = true
	}
	const groups = `SELECT '/subscriptions/' || subscription || '/resourcegroups/' || key FROM resource_groups`
	err = s.query(t.Context(), groups, func(scan func(...any) error) error {
		var key string
		err := scan(&key)
		stands[key] = true
		return err
	})
	harness.OK(t, err)
	said, last := map[string]bool{}, map[string]event{}
	for _, e := range seen {
		key := strings.ToLower(e.Subject)
		if exists, reported := e.Data.Exists.(bool); reported && replayed(key) {
			said[key], last[key] = exists, e
		}
	}
	for key := range stands {
		if !said[key] {
			wrong = append(wrong, fmt.Sprintf("the index holds %s, the last event says %+v", key, last[key]))
		}
	}
	for key, stood := range said {
		if stood && !stands[key] {
			wrong = append(wrong, fmt.Sprintf("the index does not hold %s, the last event says %+v", key, last[key]))
		}
	}
	slices.Sort(wrong)
	return wrong
}

// replayed reports whether events tell of a resource of a provider, or a group, of the
// subscription that clients work in.
func replayed(key string) bool {
	path, found := strings.CutPrefix(key, strings.ToLower("/subscriptions/"+subscriptions[0]+"/resourcegroups/"))
	_, of, below := strings.Cut(path, "/")
	return found && (!below || strings.HasPrefix(of, "providers/contoso."))
}
