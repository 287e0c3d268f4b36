package hostile

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"portico/test/harness"
)

// patience bounds every wait of these tests; none of them measures time.
const patience = 60 * time.Second

// eventually waits for an event that nothing delays.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	harness.Await(t, patience, what, holds)
}

// concurrentCalls are many concurrent requests of one caller.
type concurrentCalls struct {
	ended sync.WaitGroup

	mu      sync.Mutex
	answers []harness.Answer
}

// start sends requests that may stay unanswered until the test ends.
func (w world) start(t *testing.T, who harness.Token, n int, request func(i int) harness.Request) *concurrentCalls {
	t.Helper()
	c := &concurrentCalls{}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(c.ended.Wait)
	t.Cleanup(cancel)
	for i := range n {
		r := request(i)
		r.Header = harness.Header("Authorization", "Bearer "+who.Raw)
		c.ended.Go(func() {
			answer, err := w.Portico.Try(ctx, r)
			if err != nil {
				return // the test is over
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			c.answers = append(c.answers, answer)
		})
	}
	return c
}

// answered returns the answers so far.
func (c *concurrentCalls) answered() []harness.Answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]harness.Answer(nil), c.answers...)
}

// arrived waits until Portico has accepted or answered that many requests of a crowd.
func (w world) arrived(t *testing.T, c *concurrentCalls, n int) {
	t.Helper()
	eventually(t, "all requests arrived", func() bool {
		return len(c.answered())+int(w.Portico.Metric(t, "portico_requests_in_flight")) >= n
	})
}

// bounded makes a call that must be answered within the test's patience.
func (w world) bounded(t *testing.T, who harness.Token, r harness.Request) harness.Answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r.Header = harness.Header("Authorization", "Bearer "+who.Raw)
	answer, err := w.Portico.Try(ctx, r)
	if err != nil {
		t.Fatalf("%s %s: %v", r.Method, r.Path, err)
	}
	return answer
}

// wantThrottled checks that every answer refuses a used-up share.
func wantThrottled(t *testing.T, answers []harness.Answer) {
	t.Helper()
	for _, a := range answers {
		if a.Status != http.StatusTooManyRequests || a.ErrorCode() != "TooManyRequests" || a.Header.Get("Retry-After") == "" {
			t.Errorf("status %d, Retry-After %q: %s", a.Status, a.Header.Get("Retry-After"), a.Body)
		}
	}
}

// hangingCalls are the requests that the provider holds open for a test.
type hangingCalls struct {
	mu             sync.Mutex
	reached, ended int
}

// hang makes the provider hold requests open until the test ends.
func (w world) hang(t *testing.T, method, part string) *hangingCalls {
	t.Helper()
	return w.stall(t, method, part, func(http.ResponseWriter) {})
}

// stall is hang after the given requests.
func (w world) stall(t *testing.T, method, part string, begin func(http.ResponseWriter)) *hangingCalls {
	t.Helper()
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	h := &hangingCalls{}
	w.provider.On(method, part, func(rw http.ResponseWriter, r *http.Request) {
		h.count(&h.reached)
		begin(rw)
		select {
		case <-over:
		case <-r.Context().Done():
		}
		h.count(&h.ended)
	})
	return h
}

func (h *hangingCalls) count(n *int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	*n++
}

// wait waits until the provider holds at least so many requests.
func (h *hangingCalls) wait(t *testing.T, n int) {
	t.Helper()
	eventually(t, "the provider holds requests", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.reached >= n
	})
}

// open is how many of the requests have not ended.
func (h *hangingCalls) open() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.reached - h.ended
}

// holds checks that none of the requests has ended.
func (h *hangingCalls) holds(t *testing.T) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended > 0 {
		t.Errorf("%d of %d requests have been given up before others were answered", h.ended, h.reached)
	}
}

// answerPlainly makes the provider answer matching requests at once.
func (w world) answerPlainly(part, body string) {
	w.provider.Script(harness.Script{Part: part, Answer: harness.Reply{Status: http.StatusOK, Body: body}})
}

// theirGroup creates a group of the other tenant, with a thing in each of some regions.
func (w world) theirThings(t *testing.T, regions ...string) {
	t.Helper()
	group := "/subscriptions/" + theirs + "/resourcegroups/theirs"
	w.as(t, bob, http.MethodPut, group+api, `{"location":"westus"}`).Want(t, 201)
	for _, region := range regions {
		w.as(t, bob, http.MethodPut, group+"/providers/Evil.Test/things/"+region+api, located(region)).Want(t, 200, 201)
	}
}

// ourThings is theirThings for our tenant.
func (w world) ourThings(t *testing.T, regions ...string) {
	t.Helper()
	w.group(t, "ours")
	for _, region := range regions {
		w.as(t, alice, http.MethodPut, w.thing("ours", region)+api, located(region)).Want(t, 200, 201)
	}
}

// usages is a path that lists a subscription's usage in a region; it is no resource.
func usages(subscription, name string) string {
	return "/subscriptions/" + subscription + "/providers/Evil.Test/locations/westus/" + name + api
}

// Forty endless bodies take one share of the memory for contents, and leave the rest to
// others.
func TestStalledBodiesTakeAShare(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.ourThings(t)
	w.theirThings(t)
	const sockets, sent = 40, 3 << 20
	address := strings.TrimPrefix(w.Portico.URL, "http://")
	var mu sync.Mutex
	var refusals []string
	refused := func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string(nil), refusals...)
	}
	var running sync.WaitGroup
	t.Cleanup(running.Wait)
	body := []byte(`{"location":"westus","properties":{"text":"` + strings.Repeat("x", sent))
	for i := range sockets {
		conn, err := net.Dial("tcp", address)
		harness.OK(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		head := fmt.Sprintf("PUT %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n",
			w.thing("ours", fmt.Sprintf("stalled%d", i))+api, address, alice.Raw, 4<<20)
		running.Go(func() { _, _ = conn.Write(append([]byte(head), body...)) })
		running.Go(func() {
			text := make([]byte, 4<<10)
			if n, _ := conn.Read(text); n > 0 {
				mu.Lock()
				defer mu.Unlock()
				refusals = append(refusals, string(text[:n]))
			}
		})
	}
	eventually(t, "the bodies hold what they can", func() bool { return len(refused()) > 0 })

	large := fmt.Sprintf(`{"location":"westus","properties":{"text":%q}}`, strings.Repeat("y", 200<<10))
	w.as(t, bob, http.MethodPut, "/subscriptions/"+theirs+"/resourcegroups/theirs/providers/Evil.Test/things/large"+api, large).Want(t, 201)
	w.as(t, carol, http.MethodPut, w.thing("ours", "large")+api, large).Want(t, 201)
	for _, answer := range refused() {
		if !strings.HasPrefix(answer, "HTTP/1.1 429 ") || !strings.Contains(answer, "\r\nRetry-After: ") || !strings.Contains(answer, `"TooManyRequests"`) {
			t.Errorf("refused by %q", answer)
		}
	}
}

// If a provider holds one caller's reads and writes open, slots of that provider remain
// for others. The order of events proves it: the other caller is answered before any of
// the first is released.
func TestHeldCallsLeaveSlots(t *testing.T) {
	t.Parallel()
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{Settings: "upstream: {callsPerEndpoint: 16}\n"})
			held := w.hang(t, method, ours+"/providers/Evil.Test/locations/westus/held")
			w.answerPlainly(theirs+"/providers/Evil.Test/locations", `{"value":[]}`)
			w.answerPlainly(ours+"/providers/Evil.Test/locations/westus/plain", `{"value":[]}`)
			const calls = 60
			c := w.start(t, alice, calls, func(i int) harness.Request {
				return harness.Request{Method: method, Path: usages(ours, fmt.Sprintf("held%d", i))}
			})
			w.arrived(t, c, calls)
			held.wait(t, 1)
			w.bounded(t, bob, harness.Request{Method: method, Path: usages(theirs, "plain")}).Want(t, 200)
			w.bounded(t, carol, harness.Request{Method: method, Path: usages(ours, "plain")}).Want(t, 200)
			held.holds(t)
			wantThrottled(t, c.answered())
		})
	}
}

// If regions do not answer one caller's lists, reads of those regions remain for
// others' lists.
func TestHeldListsLeaveReads(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{Settings: "upstream: {readsPerEndpoint: 8}\n"})
	w.ourThings(t, "westus", "eastus")
	w.theirThings(t, "westus", "eastus")
	held := w.hang(t, http.MethodGet, ours+"/providers/Evil.Test/things?")
	const lists = 40
	c := w.start(t, alice, lists, func(int) harness.Request {
		return harness.Request{Path: "/subscriptions/" + ours + "/providers/Evil.Test/things" + api}
	})
	w.arrived(t, c, lists)
	held.wait(t, 2)
	answer := w.bounded(t, bob, harness.Request{Path: "/subscriptions/" + theirs + "/providers/Evil.Test/things" + api}).Want(t, 200)
	if n := len(answer.Values(t)); n != 2 {
		t.Errorf("%d elements", n)
	}
	held.holds(t)
	wantThrottled(t, c.answered())
}

// small has budgets that a few requests exhaust.
const small = "limits: {requestBody: 256KiB, answerBody: 1MiB}\nlists: {memory: 4MiB, totalMemory: 16MiB}\n"

// Lists of one caller whose announced pages never arrive take one share of the memory
// for lists.
func TestPromisedPagesTakeAShare(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{Settings: small + "batch: {memory: 4MiB, totalMemory: 16MiB}\n"})
	w.ourThings(t, "westus", "eastus")
	w.theirThings(t, "westus", "eastus")
	held := w.stall(t, http.MethodGet, ours+"/providers/Evil.Test/things?", func(w http.ResponseWriter) {
		w.Header().Set("Content-Length", fmt.Sprint(1<<20))
		_, _ = io.WriteString(w, `{"value":[`)
		w.(http.Flusher).Flush()
	})
	w.answerPlainly(theirs+"/providers/Evil.Test/things?", `{"value":[],"more":"`+strings.Repeat("x", 500<<10)+`"}`)
	const lists = 16 // regions limit the reads of all callers together
	c := w.start(t, alice, lists, func(int) harness.Request {
		return harness.Request{Path: "/subscriptions/" + ours + "/providers/Evil.Test/things" + api}
	})
	w.arrived(t, c, lists)
	held.wait(t, lists)
	w.bounded(t, bob, harness.Request{Path: "/subscriptions/" + theirs + "/providers/Evil.Test/things" + api}).Want(t, 200)
	if held.open() == 0 {
		t.Error("all promises were given up before others were answered")
	}
	wantThrottled(t, c.answered())
}

// Batches of one caller that wait for their provider take one share of the memory for
// batches.
func TestHeldBatchesTakeAShare(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{Settings: small + "batch: {memory: 4MiB, totalMemory: 16MiB}\n"})
	held := w.hang(t, http.MethodGet, ours+"/providers/Evil.Test/locations/westus/held")
	w.answerPlainly(theirs+"/providers/Evil.Test/locations", `{"value":[]}`)
	const batches = 10
	c := w.start(t, alice, batches, func(int) harness.Request {
		return harness.Request{Method: http.MethodPost, Path: "/batch" + api, Body: batchOf(4, usages(ours, "held"))}
	})
	w.arrived(t, c, batches)
	held.wait(t, 4)
	answer := w.bounded(t, bob, harness.Request{Method: http.MethodPost, Path: "/batch" + api, Body: batchOf(2, usages(theirs, "plain"))}).Want(t, 200)
	held.holds(t)
	if got := statuses(answers(t, answer)); fmt.Sprint(got) != "[200 200]" {
		t.Errorf("answered with %v: %s", got, answer.Body)
	}
}

// Long batches of one caller that wait for their provider leave room for another's long
// batch.
func TestHeldLongBatchesLeaveRoom(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{Settings: "batch: {immediate: 1, perCaller: 20}\n"})
	held := w.hang(t, http.MethodGet, ours+"/providers/Evil.Test/locations/westus/held")
	w.answerPlainly(theirs+"/providers/Evil.Test/locations", `{"value":[]}`)
	for range 20 {
		w.as(t, alice, http.MethodPost, "/batch"+api, batchOf(2, usages(ours, "held"))).Want(t, 202)
	}
	held.wait(t, 4)
	accepted := w.as(t, bob, http.MethodPost, "/batch"+api, batchOf(2, usages(theirs, "plain"))).Want(t, 202)
	result := w.resultOf(accepted)
	eventually(t, "the other's batch is answered", func() bool {
		answer := w.as(t, bob, http.MethodGet, result, "")
		if answer.Status == http.StatusAccepted {
			return false
		}
		if got := statuses(answers(t, answer.Want(t, 200))); fmt.Sprint(got) != "[200 200]" {
			t.Errorf("answered with %v: %s", got, answer.Body)
		}
		return true
	})
	held.holds(t)
}

// If one caller's deletions of groups hang at their provider, another's deletion at the
// same endpoint proceeds.
func TestHeldGroupDeletesLeaveRoom(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.theirThings(t, "westus")
	const groups = 20
	for i := range groups {
		group := fmt.Sprintf("held%d", i)
		w.group(t, group)
		w.put(t, w.thing(group, "one"))
	}
	held := w.hang(t, http.MethodDelete, ours)
	for i := range groups {
		w.as(t, alice, http.MethodDelete, w.GroupPath(fmt.Sprintf("held%d", i))+api, "").Want(t, 202)
	}
	held.wait(t, 1)
	theirs := "/subscriptions/" + theirs + "/resourcegroups/theirs" + api
	w.as(t, bob, http.MethodDelete, theirs, "").Want(t, 202)
	eventually(t, "the other's group has gone", func() bool {
		return w.as(t, bob, http.MethodGet, theirs, "").Status == http.StatusNotFound
	})
	held.holds(t)
}
