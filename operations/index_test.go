package operations_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"portico/inventory"
	"portico/operations"
)

func TestVerificationSettlesWhatIsInDoubt(t *testing.T) {
	for _, c := range []struct {
		name  string
		last  reply
		stays bool
	}{{"the write was applied", state("Succeeded"), true}, {"it was not", reply{status: http.StatusNotFound}, false}} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.say(machine, reply{status: 500})
			b.write(inventory.Put, inventory.Answer{Outcome: inventory.Ambiguous})
			r := b.run(b.store)
			b.within("asking", func() bool { return b.questions(machine) > 3 })
			if row, ok := b.row(machine); !ok || !row.Verify {
				t.Fatalf("a provider that does not say settled the row: %+v", row)
			}
			b.say(machine, c.last)
			b.within("settling", func() bool { return b.alive() == c.stays && b.gone() != c.stays })
			b.within("the end of the job", func() bool { return len(b.jobs()) == 0 })
			b.within("the count of the attempts", func() bool {
				return r.metric(t, "portico_job_attempts_total", "verify", "failed") >= 3 && r.metric(t, "portico_job_seconds", "verify") >= 4
			})
		})
	}
}

// All calls of one job carry one id.
func TestJobsHaveOneCorrelation(t *testing.T) {
	b := newBench(t)
	b.say(machine, reply{status: 500}, reply{status: 500}, reply{status: 500}, state("Succeeded"))
	b.live()
	if err := b.store.Doubt(t.Context(), subscription, machine); err != nil {
		t.Fatal(err)
	}
	b.run(b.store)
	b.within("settling", b.alive)
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.correlations) != 1 || b.asked[machine] < 4 {
		t.Errorf("%d questions, ids %v", b.asked[machine], b.correlations)
	}
}

// A state that is not terminal is no end: a resource that is on its way out is
// not called alive because it was seen.
func TestVerificationFollowsByGet(t *testing.T) {
	b := newBench(t)
	b.live()
	b.say(machine, state("Deleting"), state("Deleting"), state("Deleting"), reply{status: 404})
	if err := b.store.Doubt(t.Context(), subscription, machine); err != nil {
		t.Fatal(err)
	}
	b.run(b.store)
	b.within("its end", b.gone)
	if b.questions(machine) < 4 {
		t.Errorf("%d questions", b.questions(machine))
	}
}

// What is being worked on for long is asked for less and less often, unless its
// provider says when: a state in which a resource stays must not be asked for
// every second for ever.
func TestVerificationKeepsAPace(t *testing.T) {
	b := newBench(t)
	b.live()
	if err := b.store.Doubt(t.Context(), subscription, machine); err != nil {
		t.Fatal(err)
	}
	verification := b.kinds(b.store, prometheus.NewRegistry())[inventory.VerifyJob]
	job := b.load(inventory.JobID(inventory.VerifyJob, strings.ToLower(machine)))
	for _, c := range []struct {
		age         time.Duration
		asked       string
		least, most time.Duration
	}{
		{0, "", floor, time.Second},
		{100 * time.Second, "", 10 * time.Second, 12 * time.Second},
		{time.Hour, "", time.Minute, time.Minute},
		{time.Hour, "7", 7 * time.Second, 7 * time.Second},
	} {
		working := state("Ready")
		working.header = c.asked
		b.say(machine, working)
		job.Created = b.store.Time().Add(-c.age)
		verdict, err := verification.Run(t.Context(), &operations.Held{Job: job})
		if err != nil || verdict.Again < c.least || verdict.Again > c.most {
			t.Errorf("after %v, asked for %q: %v, %v", c.age, c.asked, verdict.Again, err)
		}
	}
}

// Operators are told what the latest question came to.
func TestVerificationTellsItsOutcome(t *testing.T) {
	b := newBench(t)
	b.live()
	if err := b.store.Doubt(t.Context(), subscription, machine); err != nil {
		t.Fatal(err)
	}
	verification := b.kinds(b.store, prometheus.NewRegistry())[inventory.VerifyJob]
	job := b.load(inventory.JobID(inventory.VerifyJob, strings.ToLower(machine)))
	for _, c := range []struct {
		said reply
		want string
	}{
		{reply{status: 403}, "The provider answered 403."},
		{reply{status: 429, header: "3"}, "The provider answered 429."},
		{reply{status: reset}, "The provider gave no answer."},
		{state("Updating"), "The provider is still at work on the resource: its provisioning state is not terminal."},
		{state("Succeeded"), ""},
	} {
		b.say(machine, c.said)
		verdict, err := verification.Run(t.Context(), &operations.Held{Job: job})
		var kept inventory.Verify
		if verdict.Payload != "" {
			if err := (inventory.Job{Payload: verdict.Payload}).Read(&kept); err != nil {
				t.Error(err)
			}
		}
		if kept.Progress.Outcome != c.want {
			t.Errorf("after %+v: %+v, %v", c.said, verdict, err)
		}
	}
}

func TestVerificationOfTheChildrenOfWhatIsGone(t *testing.T) {
	b := newBench(t)
	disk := machine + "/disks/d"
	b.live()
	b.writeTo(inventory.Put, disk, machines+"/disks", machine, inventory.Answer{Outcome: inventory.Succeeded})
	b.write(inventory.Delete, inventory.Answer{Outcome: inventory.Gone})
	if _, ok := b.row(disk); !ok {
		t.Fatal("the child was dropped without asking")
	}
	b.run(b.store)
	b.within("the child's end", func() bool { _, ok := b.row(disk); return !ok })
}

func TestTheLivingAreLeftAlone(t *testing.T) {
	b := newBench(t)
	b.live()
	r := b.run(b.store)
	b.job(inventory.VerifyJob, "/nobody")
	b.within("a look at what is due", func() bool { return r.metric(t, "portico_job_attempts_total", "verify") > 0 })
	if n := b.questions(machine); n != 0 {
		t.Errorf("%d questions", n)
	}
}

// Each way in which an answer can name its operation is followed to the end,
// and what the end left is asked for.
func TestFollowing(t *testing.T) {
	const where = "/subscriptions/" + subscription + "/providers/Contoso.Compute/operations/1"
	location, async := &inventory.Poll{Path: where, Query: "a=b"}, &inventory.Poll{Path: where, Status: true}
	there, missing := state("Succeeded"), reply{status: 404}
	running := reply{status: 202}
	for _, c := range []struct {
		name  string
		kind  inventory.WriteKind
		poll  *inventory.Poll
		polls []reply
		gets  []reply
		gone  bool
	}{
		{"a create by Location", inventory.Put, location, []reply{running, running, {status: 200, body: `{}`}}, []reply{there}, false},
		{"one that failed", inventory.Put, location, []reply{running, {status: 409}}, []reply{missing}, true},
		{"a delete by Location", inventory.Delete, location, []reply{running, {status: 204}}, []reply{missing}, true},
		{"a create by its status", inventory.Put, async, []reply{status("InProgress"), status("Succeeded")}, []reply{there}, false},
		{"a delete by its status", inventory.Delete, async, []reply{status("Deleting"), status("Succeeded")}, []reply{missing}, true},
		{"a delete that failed", inventory.Delete, async, []reply{status("Deleting"), status("Failed")}, []reply{there}, false},
		{"a lost operation", inventory.Delete, async, []reply{status("Deleting"), missing}, []reply{state("Deleting"), missing}, true},
		{"a status that cannot be read for a while", inventory.Delete, async, []reply{{status: 500}, {status: 429, header: "0"}, {status: 400}, {status: 403}, {status: 408}, status("Succeeded")}, []reply{missing}, true},
		{"a Location that cannot be read for a while", inventory.Put, location, []reply{{status: 500}, {status: 429, header: "0"}, {status: 401}, {status: 200}}, []reply{there}, false},
		{"a create without a URL", inventory.Put, nil, nil, []reply{missing, missing, state("Creating"), there}, false},
		{"a delete without a URL", inventory.Delete, nil, nil, []reply{state("Deleting"), {status: 500}, state("Deleting"), missing}, true},
		{"a delete without a URL that failed", inventory.Delete, nil, nil, []reply{state("Deleting"), state("Failed")}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			if c.kind == inventory.Delete {
				b.live()
			}
			b.say(where, c.polls...)
			b.say(machine, c.gets...)
			b.accept(c.kind, c.poll)
			b.run(b.store)
			b.within("the end", func() bool { return b.gone() == c.gone && b.alive() != c.gone })
			b.within("the end of the jobs", func() bool { return len(b.jobs()) == 0 })
			if n := b.questions(where); n < len(c.polls) {
				t.Errorf("%d polls", n)
			}
		})
	}
}

// To anybody but who began it an operation does not exist. What the resource has
// become is asked for on nobody's behalf.
func TestFollowingAsWhoBegan(t *testing.T) {
	b := newBench(t)
	b.say("/poll", reply{status: 204})
	b.accept(inventory.Put, &inventory.Poll{Path: "/poll", TenantID: "tenant", ObjectID: "object"})
	b.run(b.store)
	b.within("settling", b.alive)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.callers["/poll"] != "tenant object" || b.callers[machine] != " " {
		t.Errorf("%q", b.callers)
	}
}

// A poll can name a further URL of the operation, but only the provider's own.
func TestFollowingAFurtherURL(t *testing.T) {
	b := newBench(t)
	b.live()
	b.say("/first", reply{status: 202, header: "https://elsewhere.example/stolen"}, reply{status: 202, header: "/second?x"})
	b.say("/second", reply{status: 202}, reply{status: 204})
	b.say(machine, reply{status: 404})
	b.accept(inventory.Delete, &inventory.Poll{Path: "/first"})
	b.run(b.store)
	b.within("the end", b.gone)
	if b.questions("/first") != 2 || b.questions("/second") < 2 || b.questions("/stolen") != 0 {
		t.Errorf("polled %v", b.asked)
	}
}

// A provider's pause counts for the next poll.
func TestFollowingWaitsAsAsked(t *testing.T) {
	b := newBench(t)
	b.say("/poll", reply{status: 202, header: "3600"})
	b.accept(inventory.Put, &inventory.Poll{Path: "/poll"})
	r := b.run(b.store)
	b.within("a poll", func() bool { return r.metric(t, "portico_job_attempts_total", "follow", "again") > 0 })
	jobs := b.jobs()
	if len(jobs) != 1 || time.Until(jobs[0].Due) < 50*time.Minute || jobs[0].Attempts != 0 {
		t.Errorf("%+v", jobs)
	}
}

// Whatever else a provider says, it is asked again when it wants to be: sooner
// would be an attempt of its own making.
func TestQuestionsWaitAsAsked(t *testing.T) {
	for _, status := range []int{408, 429, 500, 503, 409} {
		for _, kind := range []string{inventory.VerifyJob, inventory.FollowJob} {
			t.Run(fmt.Sprintf("%d to %s", status, kind), func(t *testing.T) {
				t.Parallel()
				b := newBench(t)
				b.say(machine, reply{status: status, header: "3600"})
				if kind == inventory.VerifyJob {
					b.write(inventory.Put, inventory.Answer{Outcome: inventory.Ambiguous})
				} else {
					b.accept(inventory.Put, nil)
				}
				r := b.run(b.store)
				b.within("a question", func() bool { return r.metric(t, "portico_job_attempts_total", kind, "failed") > 0 })
				jobs := b.jobs()
				if len(jobs) != 1 || jobs[0].Attempts != 1 || time.Until(jobs[0].Due) < 50*time.Minute || b.questions(machine) != 1 {
					t.Errorf("%d questions, then %+v", b.questions(machine), jobs)
				}
			})
		}
	}
}

// A connection that breaks costs an attempt, not the operation.
func TestQuestionsThatBreakOff(t *testing.T) {
	b := newBench(t)
	b.live()
	b.say("/poll", reply{status: reset}, reply{status: reset}, reply{status: reset}, reply{status: reset}, reply{status: reset}, reply{status: 204})
	b.say(machine, reply{status: reset}, reply{status: 502}, reply{status: reset}, reply{status: 404})
	b.accept(inventory.Delete, &inventory.Poll{Path: "/poll"})
	b.run(b.store)
	b.within("the end", b.gone)
	if b.questions("/poll") < 6 || b.questions(machine) < 4 {
		t.Errorf("%v", b.asked)
	}
}

// The end of an operation that a newer write has replaced ends nothing.
func TestFollowingWhatWasReplaced(t *testing.T) {
	b := newBench(t)
	b.live()
	polled, replaced := make(chan struct{}), make(chan struct{})
	b.hook = func(path string) {
		if path == "/old" {
			close(polled)
			<-replaced
		}
	}
	b.say("/old", reply{status: 200, body: `{}`})
	b.say("/new", reply{status: 202})
	b.say(machine, state("Updating"))
	b.accept(inventory.Put, &inventory.Poll{Path: "/old"})
	r := b.run(b.store)
	<-polled
	b.accept(inventory.Put, &inventory.Poll{Path: "/new"})
	close(replaced)
	b.within("the end of the old one", func() bool { return r.metric(t, "portico_job_attempts_total", "follow", "deposed") > 0 })
	b.within("polls of the new one", func() bool { return b.questions("/new") > 1 })
	if row, _ := b.row(machine); !row.FollowPut || !row.Verify {
		t.Errorf("%+v", row)
	}
}

// What takes too long is looked after rarely, and counted.
func TestFollowingBeyondTheLimit(t *testing.T) {
	b := newBench(t)
	b.say("/poll", reply{status: 202})
	b.accept(inventory.Put, &inventory.Poll{Path: "/poll"})
	r := b.run(b.store, func(o *operations.RunnerOptions) {
		o.Kinds[inventory.FollowJob].(*operations.Following).Limit = 50 * time.Millisecond
	})
	b.within("the metric", func() bool { return r.metric(t, "portico_follows_over_limit") == 1 })
	b.within("the pause", func() bool { jobs := b.jobs(); return len(jobs) == 1 && time.Until(jobs[0].Due) > 50*time.Minute })
	if row, _ := b.row(machine); !row.FollowPut {
		t.Errorf("%+v", row)
	}
}
