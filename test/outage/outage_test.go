package outage

import (
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"testing"
	"time"

	"portico/test/evidence"
	"portico/test/harness"
)

var (
	long  = flag.Bool("outage.long", false, "let memory answer for as long as in production, and repeat the outage")
	write = flag.Bool("outage.write", false, "write what is measured into README.md and docs/evidence.md")
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// outages is where the figures go.
var outages = evidence.ReportOn("../../docs", "Outages of the store", command)

const command = "make evidence"

// bound is the longest that anything is waited for.
const bound = 5 * time.Minute

// course is how an outage is tried.
type course struct {
	rounds int
	ttl    time.Duration // for how long memory answers
	think  time.Duration // between two calls of a caller
	before time.Duration // how long calls are served first, at least
	calls  int           // of each kind, at each gateway, in each part, at least
}

// A store that is away ends no call in another way than by 503 with Retry-After, lets no one
// in, loses nothing that was acknowledged, and delays what had begun before.
func TestStoreThatIsAway(t *testing.T) {
	tried := course{rounds: 1, ttl: 4 * time.Second, think: 100 * time.Millisecond, calls: 3}
	if *long {
		tried = course{rounds: 3, ttl: time.Minute, think: 200 * time.Millisecond, before: 65 * time.Second, calls: 20}
	}
	seen := evidence.Observe(command, evidence.PostgresVersion())
	postgres := harness.StartPostgres(t)
	s := newSite(t, postgres.CreateDatabase(t, "portico"), tried.ttl)
	c := newCallers(s, tried.think)
	c.start(t)
	var rounds []marks
	for n := range tried.rounds {
		rounds = append(rounds, c.outage(t, postgres, tried, n))
		t.Logf("round %d: %+v", n+1, rounds[n])
	}
	c.end()
	c.judge(t, rounds)
	c.audit(t)
	whole := c.report(seen, rounds)
	t.Log("\n" + whole)
	if *write {
		harness.OK(t, outages.Write(whole, c.summary(seen, rounds)))
	}
}

func TestPageHasAPlaceForWhatIsMeasured(t *testing.T) {
	harness.OK(t, outages.Check())
	harness.OK(t, failovers.Check())
}

// marks are the times of one outage, by the clock of the journal.
type marks struct {
	began    time.Duration // of the round
	assigned time.Duration // before a role was assigned that goes right before the outage
	revoked  time.Duration // its end was acknowledged
	stopping time.Duration // before the store was stopped
	stopped  time.Duration // after
	expired  time.Duration // memory answers no longer
	starting time.Duration // before the store was started
	started  time.Duration // it answers
	ready    time.Duration // all gateways say so
	ended    time.Duration
}

// outage stops the store for longer than memory answers, while calls are made.
func (c *callers) outage(t *testing.T, postgres *harness.Postgres, tried course, round int) (m marks) {
	t.Helper()
	everything := slices.Concat(reads, writes, []kind{poll, unassigned, revoked, ready, healthy})
	m.began = c.now()
	if round == 0 {
		c.loseRole(t)
	}
	c.await(t, "before", tried.calls, m.began, everything, answered)
	c.await(t, "before", readOnly, m.began, []kind{readResource}, call.served)
	harness.Await(t, bound, "the time before an outage", func() bool { return c.now()-m.began >= tried.before })
	doomed := c.doomedGroups(t, round)

	m.assigned = c.now()
	path := c.assign(t, lastTime, group(revocations), reader)
	c.await(t, "before", 1, m.assigned, []kind{revokedLast}, call.served)
	c.deleteGroups(t, doomed)
	c.as(owner, 0, t, http.MethodDelete, path, "").Want(t, 200)
	m.revoked = c.now()
	m.stopping = m.revoked
	postgres.Crash(t)
	m.stopped = c.now()
	m.expired = m.stopped + c.ttl

	harness.Await(t, bound, "memory's end", func() bool { return c.now() > m.expired })
	for _, p := range c.providers {
		p.ForgetRequests(t)
	}
	all := slices.Concat(everything, polls, denied)
	c.await(t, "during the outage", tried.calls, m.expired, all, answered)
	for _, p := range c.providers {
		for _, r := range p.Requests(t) {
			if r.Method != http.MethodGet {
				t.Errorf("without a store, %s was sent %s %s", p.Region, r.Method, r.Path)
			}
		}
	}

	m.starting = c.now()
	postgres.Start(t)
	m.started = c.now()
	c.await(t, "after the outage", 1, m.started, []kind{ready}, call.served)
	m.ready = c.now()
	c.await(t, "after the outage", tried.calls, m.ready, slices.Concat(reads, writes, []kind{poll}), call.served)
	for _, id := range doomed {
		harness.Await(t, bound, "the end of "+id, func() bool {
			return c.as(owner, 0, t, http.MethodGet, id+groupVersion, "").Status == http.StatusNotFound
		})
	}
	m.ended = c.now()
	return m
}

func answered(c call) bool { return c.status != 0 }

// await waits until so many calls of each kind that began at a time or later are as wanted,
// at each gateway.
func (c *callers) await(t *testing.T, when string, n int, at time.Duration, of []kind, wanted func(call) bool) {
	t.Helper()
	for end := time.Now().Add(bound); ; time.Sleep(20 * time.Millisecond) {
		lacking := c.lacks(n, at, of, wanted)
		if lacking == "" {
			return
		}
		if time.Now().After(end) {
			found := map[string]int{}
			for _, one := range c.since(at) {
				if one.kind == lacking {
					found[fmt.Sprint(one.gateway, ": ", one.status, " ", one.code)]++
				}
			}
			t.Fatalf("%s: there were no %d such calls at each gateway within %v: %s; there were %v", when, n, bound, lacking, found)
		}
	}
}

// loseRole assigns a role and takes it away, long enough before an outage for all gateways
// to know.
func (c *callers) loseRole(t *testing.T) {
	t.Helper()
	path := c.assign(t, early, group(revocations), reader)
	for g := range c.gateways {
		c.as(early, g, t, http.MethodGet, secret+version, "").Want(t, 200)
	}
	c.as(owner, 0, t, http.MethodDelete, path, "").Want(t, 200)
	for g := range c.gateways {
		harness.Await(t, bound, "each gateway to know that a role is taken away", func() bool {
			return c.as(early, g, t, http.MethodGet, secret+version, "").Status == http.StatusNotFound
		})
	}
	c.withoutRole = c.now()
}

// doomedGroups makes a group for each gateway that takes some seconds to delete, and returns
// their ids. They are in a subscription of which no one reads what counts here: memory
// forgets what it knows of one that changes.
func (c *callers) doomedGroups(t *testing.T, round int) (ids []string) {
	t.Helper()
	const held = 6
	for g := range gatewayCount {
		name := fmt.Sprintf("doomed-%d-%d", round, g)
		id := "/subscriptions/" + revocations + "/resourceGroups/" + name
		c.slowDeletes(t, name)
		c.as(owner, g, t, http.MethodPut, id+groupVersion, `{"location":"westus"}`).Want(t, 201)
		for i := range held {
			vm := machine(id, fmt.Sprint("vm-", i))
			c.as(owner, g, t, http.MethodPut, vm+version, body(i)).Want(t, 201)
			c.resource(vm, gone) // once the group is
		}
		ids = append(ids, id)
	}
	return ids
}

// deleteGroups begins to delete each group through its gateway.
func (c *callers) deleteGroups(t *testing.T, ids []string) {
	t.Helper()
	for g, id := range ids {
		a := c.as(owner, g, t, http.MethodDelete, id+groupVersion, "").Want(t, 202)
		at, err := url.Parse(a.Header.Get("Location"))
		harness.OK(t, err)
		c.deletions[g] <- at.RequestURI()
	}
}
