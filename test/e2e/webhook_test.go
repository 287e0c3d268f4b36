package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"portico/test/harness"
)

func putGroup(ctx context.Context, w *harness.World, p *harness.Portico, name string, n int) error {
	answer, err := p.Try(ctx, harness.Request{
		Method: "PUT", Path: w.GroupPath(name) + "?api-version=2022-09-01", Body: fmt.Sprintf(`{"location":"westus","tags":{"n":"%d"}}`, n),
	})
	if err == nil && answer.Status >= 300 {
		err = fmt.Errorf("%d: %s", answer.Status, answer.Body)
	}
	return err
}

func mustPutGroup(t *testing.T, w *harness.World, name string, n int) {
	t.Helper()
	harness.OK(t, putGroup(t.Context(), w, w.Portico, name, n))
}

// What changes reaches a receiver, signed; a sink that is added begins at now, or at the
// first event; one that is taken out stops, and goes on where it was when it is back.
func TestWebhooksFollowTheConfiguration(t *testing.T) {
	t.Parallel()
	one, two, all := newHook(t), newHook(t), newHook(t)
	first := one.sink("one", "batch: 5, types: ['*ResourceWriteSuccess'], resourceGroups: ['a*']")
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: withSinks(first)}})
	p := w.Portico
	awaitSink(t, p, "one")
	mustPutGroup(t, w, "a1", 0)
	mustPutGroup(t, w, "b1", 0)
	p.Do(t, harness.Request{Method: "DELETE", Path: w.GroupPath("a1") + "?api-version=2022-09-01"}).Want(t, 200, 202)
	mustPutGroup(t, w, "a2", 0)
	harness.Await(t, hookBound, "an event of a2", func() bool { return one.subjects()["a2"] == 1 })
	if got := one.subjects(); len(got) != 2 || got["a1"] != 1 {
		t.Errorf("a sink with a filter got %v", got)
	}

	change := func(sinks ...string) {
		t.Helper()
		c := w.Config
		c.Extra = withSinks(sinks...)
		p.Write(t, p.Text(t, c))
		reload(t, p).Want(t, 200)
	}
	change(first, two.sink("two", ""), all.sink("all", "from: earliest"))
	awaitSink(t, p, "two")
	awaitSink(t, p, "all")
	mustPutGroup(t, w, "a3", 0)
	harness.Await(t, hookBound, "an event of a3 at all", func() bool {
		return one.subjects()["a3"] == 1 && two.subjects()["a3"] == 1 && all.subjects()["a3"] == 1
	})
	if got := two.subjects(); got["b1"] != 0 {
		t.Errorf("a new sink was sent what was before it: %v", got)
	}
	if got := all.subjects(); got["b1"] != 1 {
		t.Errorf("a sink that begins with the first event got %v", got)
	}

	change(first)
	p.Admin(t, harness.Request{Path: "/admin/sinks/two"}).Want(t, 404)
	mustPutGroup(t, w, "a4", 0)
	harness.Await(t, hookBound, "an event of a4", func() bool { return one.subjects()["a4"] == 1 })
	if got := two.subjects()["a4"]; got != 0 {
		t.Error("a sink that was taken out was sent an event")
	}
	change(first, two.sink("two", ""))
	harness.Await(t, hookBound, "an event of a4 at a sink that is back", func() bool { return two.subjects()["a4"] == 1 })
	two.wantInOrder(t, p, "1.0."+fmt.Sprint(two.got()[0].number()-1))
}

// A new sink has begun when its gateway is ready, and one that a reload adds when the reload
// is answered: whoever writes from then on finds all of it at the receiver.
func TestASinkMissesNothingOnceItsGatewayIsReady(t *testing.T) {
	t.Parallel()
	const writes = 20
	one, two := newHook(t), newHook(t)
	// The pauses of housekeeping, which makes jobs as well, are by the floor: it comes late.
	settings := func(sinks ...string) string {
		return "\nindex: {pollFloor: 2s}\nevents:\n  sinks:\n" + strings.Join(sinks, "")
	}
	first := one.sink("one", "batch: 5")
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: settings(first)}})
	p := w.Portico
	missed := func(h *hook, name string) {
		t.Helper()
		if got := sinkOf(t, p, name); got.State == "Starting" {
			t.Errorf("the sink %s has not begun: %+v", name, got)
		}
		for i := range writes {
			mustPutGroup(t, w, fmt.Sprintf("%s%d", name, i), 0)
		}
		harness.Await(t, hookBound, fmt.Sprintf("an event of each of %d writes at %s", writes, name), func() bool {
			got := h.subjects()
			for i := range writes {
				if got[fmt.Sprintf("%s%d", name, i)] != 1 {
					return false
				}
			}
			return true
		})
	}
	missed(one, "one")
	c := w.Config
	c.Extra = settings(first, two.sink("two", ""))
	p.Write(t, p.Text(t, c))
	reload(t, p).Want(t, 200)
	missed(two, "two")
	if got := two.subjects()["one0"]; got != 0 {
		t.Error("a new sink was sent what was before it")
	}
}

// Secrets and tokens are changed while events flow, without one that the receiver does
// not know.
func TestWebhookSecretsAreChanged(t *testing.T) {
	t.Parallel()
	h := newHook(t)
	h.bearer = "the-token"
	secrets, token := filepath.Join(h.dir, "secrets"), filepath.Join(h.dir, "token")
	write := func(path, text string) {
		t.Helper()
		harness.OK(t, os.WriteFile(path, []byte(text), 0o600))
	}
	const other = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
	write(secrets, other+"\n"+hookSecret+"\n")
	write(token, "the-token\n")
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{
		Server: watched, Extra: withSinks(h.sink("h", fmt.Sprintf("bearerFile: %q", token))),
	}})
	awaitSink(t, w.Portico, "h")
	mustPutGroup(t, w, "g", 0)
	harness.Await(t, hookBound, "an event", func() bool { return h.subjects()["g"] == 1 })
	generation := w.Portico.Metric(t, "portico_config_generation")
	write(secrets, hookSecret+"\n")
	harness.Await(t, hookBound, "a reload", func() bool { return w.Portico.Metric(t, "portico_config_generation") > generation })
	mustPutGroup(t, w, "g", 1)
	harness.Await(t, hookBound, "an event by the secret that is left", func() bool { return h.subjects()["g"] == 2 })
	var outcome struct {
		Outcome string
		Status  int
	}
	answer := w.Portico.Admin(t, harness.Request{Method: "POST", Path: "/admin/sinks/h/test"}).Want(t, 200)
	if err := json.Unmarshal(answer.Body, &outcome); err != nil || outcome.Outcome != "delivered" || outcome.Status != 204 {
		t.Errorf("a test: %s, %v", answer.Body, err)
	}
	h.wantInOrder(t, w.Portico, "1.0."+fmt.Sprint(h.got()[0].number()-1))
	shown := string(w.Portico.Admin(t, harness.Request{Path: "/admin/sinks"}).Want(t, 200).Body) + w.Portico.Logs() +
		string(w.Portico.Admin(t, harness.Request{Path: "/admin/jobs?kind=sink"}).Want(t, 200).Body)
	for _, secret := range []string{strings.TrimPrefix(hookSecret, "whsec_"), "the-token", "/in"} {
		if strings.Contains(shown, secret) {
			t.Errorf("%q is shown", secret)
		}
	}
}

// writeGroups puts groups again and again until ctx ends, through whichever gateway
// answers.
func writeGroups(ctx context.Context, w *harness.World, replicas []*harness.Portico, writers int) *sync.WaitGroup {
	running := new(sync.WaitGroup)
	for writer := range writers {
		running.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				_ = putGroup(ctx, w, replicas[n%len(replicas)], fmt.Sprintf("g%d-%d", writer, n%3), n) // a gateway may be dead
				select {
				case <-ctx.Done():
				case <-time.After(5 * time.Millisecond):
				}
			}
		})
	}
	return running
}

// A gateway that is killed while it delivers loses no event, and those of one resource
// come in their order.
func TestWebhookDeliveryOutlivesKills(t *testing.T) {
	t.Parallel()
	h := newHook(t)
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: withSinks(h.sink("h", "from: earliest, batch: 3"))}})
	h.answers(func(e hookEvent) int {
		time.Sleep(3 * time.Millisecond)
		if e.number()%7 == 0 && time.Now().UnixNano()%2 == 0 {
			return http.StatusInternalServerError
		}
		return http.StatusOK
	})
	awaitSink(t, w.Portico, "h")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	running := writeGroups(ctx, w, w.Replicas, 4)
	for range 4 {
		before := len(h.got())
		harness.Await(t, hookBound, "events", func() bool { return len(h.got()) > before+30 })
		w.Portico.Kill(t)
		w.Portico.Restart(t)
	}
	cancel()
	running.Wait()
	h.answers(nil)
	harness.Await(t, hookBound, "the rest", func() bool { s := sinkOf(t, w.Portico, "h"); return s.LagEvents == 0 && s.Retrying == 0 })
	h.wantInOrder(t, w.Portico, "")
	if s := sinkOf(t, w.Portico, "h"); s.Dead != 0 || s.Forgotten != 0 {
		t.Errorf("%+v", s)
	}
}

// One of two gateways delivers. When it is killed the other goes on where it was.
func TestWebhooksOverReplicas(t *testing.T) {
	t.Parallel()
	h := newHook(t)
	w := harness.NewWorld(t, harness.WorldOptions{
		Replicas: 2,
		Config:   harness.Config{Postgres: harness.StartPostgres(t).CreateDatabase(t, "sinks"), Extra: withSinks(h.sink("h", "from: earliest"))},
	})
	awaitSink(t, w.Replicas[0], "h")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	running := writeGroups(ctx, w, w.Replicas, 4)
	attempts := func(p *harness.Portico) float64 {
		t.Helper()
		return p.Metric(t, `portico_sink_delivered_total{sink="h"}`)
	}
	for range 3 {
		before := len(h.got())
		harness.Await(t, hookBound, "events", func() bool { return len(h.got()) > before+30 })
		victim, other := w.Replicas[0], w.Replicas[1]
		if attempts(victim) == 0 || attempts(other) > attempts(victim) {
			victim, other = other, victim
		}
		still := attempts(other)
		before = len(h.got())
		harness.Await(t, hookBound, "more events", func() bool { return len(h.got()) > before+10 })
		if attempts(other) != still {
			t.Error("two gateways deliver at a time")
		}
		victim.Kill(t)
		harness.Await(t, hookBound, "the other gateway to deliver", func() bool { return attempts(other) > still })
		victim.Restart(t)
	}
	cancel()
	running.Wait()
	p := w.Replicas[0]
	harness.Await(t, hookBound, "the rest", func() bool { s := sinkOf(t, p, "h"); return s.LagEvents == 0 && s.Retrying == 0 })
	h.wantInOrder(t, p, "")
}

// A receiver that was away is sent everything when it is back: nothing was given up, and
// nothing was left behind that others had to wait for.
func TestWebhookReceiverThatWasAway(t *testing.T) {
	t.Parallel()
	h := newHook(t)
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{
		Extra: withSinks(h.sink("h", "from: earliest, giveUpAfter: 100ms, retrying: 5, deadLetters: 3")),
	}})
	p := w.Portico
	mustPutGroup(t, w, "g0", 0)
	harness.Await(t, hookBound, "an event", func() bool { return h.subjects()["g0"] == 1 })
	for _, away := range []func(){
		h.stop,
		func() { h.start(t); h.answers(func(hookEvent) int { return http.StatusServiceUnavailable }) },
		func() { h.answers(func(hookEvent) int { return http.StatusBadRequest }) },
	} {
		before := len(feedBehind(t, p, ""))
		away()
		for n := range 40 {
			mustPutGroup(t, w, fmt.Sprint("g", n%8), n)
		}
		harness.Await(t, hookBound, "the sink to be away", func() bool { s := sinkOf(t, p, "h"); return s.State == "Away" && s.LagEvents >= 30 })
		time.Sleep(300 * time.Millisecond) // longer than giveUpAfter
		if s := sinkOf(t, p, "h"); s.Dead > 3 || len(h.got()) > before {
			t.Errorf("%+v", s)
		}
	}
	p.Kill(t)
	p.Restart(t)
	h.answers(nil)
	p.Admin(t, harness.Request{Method: "POST", Path: "/admin/sinks/h/dead/replay"}).Want(t, 202)
	harness.Await(t, hookBound, "everything", func() bool {
		s := sinkOf(t, p, "h")
		return s.State == "Delivering" && s.LagEvents == 0 && s.Retrying == 0 && s.Dead == 0
	})
	seen := map[string]bool{}
	for _, e := range h.got() {
		seen[e.ID] = true
	}
	for _, e := range feedBehind(t, p, "") {
		if !seen[e.ID] {
			t.Errorf("event %d of %s was not delivered", e.number(), e.Subject)
		}
	}
}

// A receiver that does not take one resource's events gets all others, and those of that
// resource in their order when it takes them; what it refuses for good becomes a dead
// letter, which an operator replays.
func TestWebhookOfOneResourceIsRefused(t *testing.T) {
	t.Parallel()
	for _, batch := range []int{1, 4} {
		t.Run(fmt.Sprint("batch of ", batch), func(t *testing.T) {
			t.Parallel()
			h := newHook(t)
			w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{
				Extra: withSinks(h.sink("h", fmt.Sprintf("from: earliest, batch: %d", batch))),
			}})
			p := w.Portico
			refuse := func(status int) {
				h.answers(func(e hookEvent) int {
					if strings.HasSuffix(e.Subject, "/bad") {
						return status
					}
					return http.StatusOK
				})
			}
			round := func(from int) {
				t.Helper()
				for n := range 5 {
					for _, name := range []string{"a", "bad", "b"} {
						mustPutGroup(t, w, name, from+n)
					}
				}
			}
			refuse(http.StatusInternalServerError)
			round(0)
			harness.Await(t, hookBound, "all others", func() bool { got := h.subjects(); return got["a"] >= 5 && got["b"] >= 5 })
			if got := h.subjects()["bad"]; got != 0 {
				t.Errorf("%d events were taken that were refused", got)
			}
			harness.Await(t, hookBound, "the cursor to go on", func() bool { s := sinkOf(t, p, "h"); return s.LagEvents == 0 && s.Retrying == 5 && s.Dead == 0 })
			p.Kill(t)
			p.Restart(t)
			h.answers(nil)
			harness.Await(t, hookBound, "what was left behind", func() bool { return h.subjects()["bad"] >= 5 && sinkOf(t, p, "h").Retrying == 0 })
			h.wantInOrder(t, p, "")

			refuse(http.StatusUnprocessableEntity)
			round(5)
			harness.Await(t, hookBound, "dead letters", func() bool {
				mustPutGroup(t, w, "a", int(time.Now().UnixMilli())) // another that is taken
				s := sinkOf(t, p, "h")
				return s.Dead == 5 && s.Retrying == 0
			})
			dead := deadLetters(t, p, 2)
			for i, d := range dead {
				if d.Failure != "refused" || d.Status != 422 || d.Attempts == 0 || d.Event == nil || !strings.HasSuffix(d.Event.Subject, "/bad") || d.ID != d.Event.Sequence {
					t.Errorf("dead letter %d: %+v", i, d)
				}
			}
			h.answers(nil)
			path := "/admin/sinks/h/dead/"
			p.Admin(t, harness.Request{Method: "DELETE", Path: path + dead[0].ID}).Want(t, 200)
			p.Admin(t, harness.Request{Method: "DELETE", Path: path + dead[0].ID}).Want(t, 404)
			one := p.Admin(t, harness.Request{Method: "POST", Path: path + "replay", Body: fmt.Sprintf(`{"ids":[%q]}`, dead[1].ID)}).Want(t, 202)
			if string(one.Body) != `{"replayed":1}` {
				t.Errorf("%s", one.Body)
			}
			harness.Await(t, hookBound, "one that is replayed", func() bool { return h.subjects()["bad"] == 6 })
			p.Admin(t, harness.Request{Method: "POST", Path: path + "replay"}).Want(t, 202)
			harness.Await(t, hookBound, "the others", func() bool { return h.subjects()["bad"] == 9 })
			if s := sinkOf(t, p, "h"); s.Dead != 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// An event that is not taken for giveUpAfter, while others are, is given up, and so is the
// next one of its resource; where no more dead letters may be kept, none is.
func TestWebhookGivesUp(t *testing.T) {
	t.Parallel()
	h := newHook(t)
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{
		Extra: withSinks(h.sink("h", "from: earliest, giveUpAfter: 300ms, deadLetters: 2, retrying: 3")),
	}})
	p := w.Portico
	h.answers(func(e hookEvent) int {
		if strings.HasSuffix(e.Subject, "/bad") {
			return http.StatusInternalServerError
		}
		return http.StatusOK
	})
	for n := range 5 {
		mustPutGroup(t, w, "bad", n)
	}
	n := 0
	others := func() { n++; mustPutGroup(t, w, "good", n) }
	harness.Await(t, hookBound, "as many dead letters as may be", func() bool { others(); return sinkOf(t, p, "h").Dead == 2 })
	for range 20 {
		time.Sleep(50 * time.Millisecond)
		others()
	}
	harness.Await(t, hookBound, "the others", func() bool { return h.subjects()["good"] == n })
	dead := deadLetters(t, p, 10)
	if len(dead) != 2 || dead[0].Failure != "failed" || dead[0].Status != 500 || dead[0].Attempts < 2 {
		t.Fatalf("%+v", dead)
	}
	p.Admin(t, harness.Request{Method: "DELETE", Path: "/admin/sinks/h/dead/" + dead[0].ID}).Want(t, 200)
	harness.Await(t, hookBound, "the next one", func() bool { others(); return sinkOf(t, p, "h").Dead == 2 })
	h.answers(nil)
	harness.Await(t, hookBound, "what was not given up", func() bool {
		s := sinkOf(t, p, "h")
		return h.subjects()["bad"] == 2 && s.LagEvents == 0 && s.Retrying == 0
	})
}

// What the outbox has forgotten before a sink came to it is counted and said; the sink
// goes on behind it.
func TestWebhookSaysWhatItMissed(t *testing.T) {
	t.Parallel()
	h := newHook(t)
	extra := strings.Replace(withSinks(h.sink("h", "from: earliest")), "events:\n", "events:\n  most: 5\n", 1)
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: extra}})
	p := w.Portico
	mustPutGroup(t, w, "g", 0)
	harness.Await(t, hookBound, "an event", func() bool { return h.subjects()["g"] == 1 })
	h.stop()
	for n := range 300 { // more than are held in memory
		mustPutGroup(t, w, fmt.Sprint("g", n), 1)
	}
	harness.Await(t, hookBound, "the outbox to forget", func() bool {
		answer := p.Admin(t, harness.Request{Path: "/admin/changes?after=1.0.0"})
		return answer.Status == http.StatusGone && keptEvents(t, p) <= 6
	})
	h.start(t)
	harness.Await(t, hookBound, "the sink to go on", func() bool {
		s := sinkOf(t, p, "h")
		return s.LagEvents == 0 && s.Forgotten > 0 && s.State == "Delivering"
	})
	s, got := sinkOf(t, p, "h"), len(h.subjects())
	if h.subjects()["g299"] != 1 || s.Forgotten+got < 301 {
		t.Errorf("%d were delivered, %d forgotten", got, s.Forgotten)
	}
	if p.Metric(t, `portico_sink_forgotten_total{sink="h"}`) != float64(s.Forgotten) || !strings.Contains(p.Logs(), "events were removed before they could be sent to a sink") {
		t.Error("it was not said")
	}
}

// keptEvents counts those of the feed's first page. Its one request is answered also while
// the outbox forgets: a token would not be.
func keptEvents(t *testing.T, p *harness.Portico) int {
	t.Helper()
	var page struct{ Value []hookEvent }
	harness.OK(t, json.Unmarshal(p.Admin(t, harness.Request{Path: "/admin/changes?limit=1000"}).Want(t, 200).Body, &page))
	return len(page.Value)
}

type letter struct {
	ID, Failure      string
	Status, Attempts int
	Event            *hookEvent
}

// deadLetters reads all pages.
func deadLetters(t *testing.T, p *harness.Portico, size int) (all []letter) {
	t.Helper()
	for path := fmt.Sprint("/admin/sinks/h/dead?limit=", size); path != ""; {
		var page struct {
			Value    []letter
			NextLink string
		}
		harness.OK(t, json.Unmarshal(p.Admin(t, harness.Request{Path: path}).Want(t, 200).Body, &page))
		if len(page.Value) > size {
			t.Errorf("a page of %d", len(page.Value))
		}
		all, path = append(all, page.Value...), page.NextLink
	}
	return all
}

// The code for receivers in docs/events.md verifies a signature.
func TestWebhookSignatureAsDocumented(t *testing.T) {
	t.Parallel()
	python := harness.Installed(t, "python3")
	page, err := os.ReadFile("../../docs/events.md")
	harness.OK(t, err)
	_, code, _ := strings.Cut(string(page), "```python\n")
	code, _, found := strings.Cut(code, "```")
	if !found {
		t.Fatal("the page has no code")
	}
	h := newHook(t)
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: withSinks(h.sink("h", ""))}})
	w.Portico.Admin(t, harness.Request{Method: "POST", Path: "/admin/sinks/h/test"}).Want(t, 200)
	h.mu.Lock()
	header, body := h.header, h.body
	h.mu.Unlock()
	given, err := json.Marshal(map[string]any{"body": string(body), "headers": map[string]string{
		"webhook-id": header.Get("webhook-id"), "webhook-timestamp": header.Get("webhook-timestamp"), "webhook-signature": header.Get("webhook-signature"),
	}})
	harness.OK(t, err)
	code += `
import json, sys
given = json.loads(sys.argv[1])
body, headers, secret = given["body"].encode(), given["headers"], sys.argv[2]
other = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
old = dict(headers, **{"webhook-timestamp": "1"})
print(verify(secret, headers, body), verify(secret, headers, body + b" "), verify(other, headers, body), verify(secret, old, body))
`
	out, err := exec.CommandContext(t.Context(), python, "-c", code, string(given), hookSecret).CombinedOutput()
	if got := strings.TrimSpace(string(out)); err != nil || got != "True False False False" {
		t.Errorf("%s, %v", got, err)
	}
}
