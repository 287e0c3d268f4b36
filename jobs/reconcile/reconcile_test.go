package reconcile_test

import (
	"database/sql"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"portico/inventory"
	"portico/inventory/index"
	"portico/inventory/jobrow"
	"portico/jobs"
	"portico/jobs/jobstest"
	"portico/jobs/reconcile"
)

// statusIs is the status of an operation.
func statusIs(state string) jobstest.Reply {
	return jobstest.Reply{Status: 200, Body: `{"status":"` + state + `"}`}
}

func TestVerifierSettlesFlaggedRows(t *testing.T) {
	for _, c := range []struct {
		name  string
		last  jobstest.Reply
		stays bool
	}{{"the write was applied", jobstest.State("Succeeded"), true}, {"it was not", jobstest.Reply{Status: http.StatusNotFound}, false}} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.Say(jobstest.Machine, jobstest.Reply{Status: 500})
			b.Write(index.Put, inventory.WriteResult{Outcome: index.Ambiguous})
			r := b.run(b.Store)
			b.Within("asking", func() bool { return b.Questions(jobstest.Machine) > 3 })
			if row, ok := b.Row(jobstest.Machine); !ok || !row.Verify {
				t.Fatalf("a provider that does not say settled the row: %+v", row)
			}
			b.Say(jobstest.Machine, c.last)
			b.Within("settling", func() bool { return b.Alive() == c.stays && b.Gone() != c.stays })
			b.Within("the end of the job", func() bool { return len(b.Jobs()) == 0 })
			b.Within("the count of the attempts", func() bool {
				return r.Metric(t, "portico_job_attempts_total", "verify", "failed") >= 3 && r.Metric(t, "portico_job_seconds", "verify") >= 4
			})
		})
	}
}

// All calls of one job carry one id.
func TestJobsHaveOneCorrelation(t *testing.T) {
	b := newDoubtfulBench(t)
	b.Say(jobstest.Machine, jobstest.Reply{Status: 500}, jobstest.Reply{Status: 500}, jobstest.Reply{Status: 500}, jobstest.State("Succeeded"))
	b.run(b.Store)
	b.Within("settling", b.Alive)
	if b.Correlations() != 1 || b.Questions(jobstest.Machine) < 4 {
		t.Errorf("%d questions, %d ids", b.Questions(jobstest.Machine), b.Correlations())
	}
}

// A state that is not terminal is no end: a resource that is on its way out is
// not called alive because it was seen.
func TestVerifierWaitsForATerminalState(t *testing.T) {
	b := newDoubtfulBench(t)
	b.Say(jobstest.Machine, jobstest.State("Deleting"), jobstest.State("Deleting"), jobstest.State("Deleting"), jobstest.Reply{Status: 404})
	b.run(b.Store)
	b.Within("its end", b.Gone)
	if b.Questions(jobstest.Machine) < 4 {
		t.Errorf("%d questions", b.Questions(jobstest.Machine))
	}
}

// What is being worked on for long is asked for less and less often, unless its
// provider says when: a state in which a resource stays must not be asked for
// every second for ever.
func TestVerifierSlowsDown(t *testing.T) {
	b := newDoubtfulBench(t)
	verifier := b.verifier(b.Store)
	job := b.Load(jobrow.ID(inventory.VerifyJob, strings.ToLower(jobstest.Machine)))
	for _, c := range []struct {
		age         time.Duration
		requested   string
		least, most time.Duration
	}{
		{0, "", jobstest.Floor, time.Second},
		{100 * time.Second, "", 10 * time.Second, 12 * time.Second},
		{time.Hour, "", time.Minute, time.Minute},
		{time.Hour, "7", 7 * time.Second, 7 * time.Second},
	} {
		working := jobstest.State("Ready")
		working.Header = c.requested
		b.Say(jobstest.Machine, working)
		job.Created = b.Store.Now().Add(-c.age)
		result, err := verifier.Run(t.Context(), &jobs.Claim{Job: job})
		if err != nil || result.Again < c.least || result.Again > c.most {
			t.Errorf("after %v, asked for %q: %v, %v", c.age, c.requested, result.Again, err)
		}
	}
}

// The job keeps what the latest probe came to, for operators.
func TestVerifierRecordsItsOutcome(t *testing.T) {
	b := newDoubtfulBench(t)
	verifier := b.verifier(b.Store)
	job := b.Load(jobrow.ID(inventory.VerifyJob, strings.ToLower(jobstest.Machine)))
	for _, c := range []struct {
		said jobstest.Reply
		want string
	}{
		{jobstest.Reply{Status: 403}, "The provider answered 403."},
		{jobstest.Reply{Status: 429, Header: "3"}, "The provider answered 429."},
		{jobstest.Reply{Status: jobstest.Reset}, "The provider gave no answer."},
		{jobstest.State("Updating"), "The provider is still at work on the resource: its provisioning state is not terminal."},
		{jobstest.State("Succeeded"), ""},
	} {
		b.Say(jobstest.Machine, c.said)
		result, err := verifier.Run(t.Context(), &jobs.Claim{Job: job})
		var kept inventory.Verify
		if result.Payload != "" {
			if err := (jobrow.Job{Payload: result.Payload}).Read(&kept); err != nil {
				t.Error(err)
			}
		}
		if kept.Progress.Outcome != c.want {
			t.Errorf("after %+v: %+v, %v", c.said, result, err)
		}
	}
}

func TestChildrenOfGoneResourcesAreVerified(t *testing.T) {
	b := newBench(t)
	disk := jobstest.Machine + "/disks/d"
	b.Live()
	b.WriteTo(index.Put, disk, jobstest.Machines+"/disks", jobstest.Machine, inventory.WriteResult{Outcome: index.Succeeded})
	b.Write(index.Delete, inventory.WriteResult{Outcome: index.Gone})
	if _, ok := b.Row(disk); !ok {
		t.Fatal("the child was dropped without asking")
	}
	b.run(b.Store)
	b.Within("the child's end", func() bool { _, ok := b.Row(disk); return !ok })
}

func TestExistingResourcesKeepTheirRows(t *testing.T) {
	b := newBench(t)
	b.Live()
	r := b.run(b.Store)
	b.AddJob(inventory.VerifyJob, "/nobody")
	b.Within("a look at what is due", func() bool { return r.Metric(t, "portico_job_attempts_total", "verify") > 0 })
	if n := b.Questions(jobstest.Machine); n != 0 {
		t.Errorf("%d questions", n)
	}
}

// Each way in which an answer can name its operation is followed to the end,
// and what the end left is asked for.
func TestOperationsAreTrackedToTheirEnd(t *testing.T) {
	const where = "/subscriptions/" + jobstest.Subscription + "/providers/Contoso.Compute/operations/1"
	location, async := &inventory.Poll{Path: where, Query: "a=b"}, &inventory.Poll{Path: where, Status: true}
	there, missing := jobstest.State("Succeeded"), jobstest.Reply{Status: 404}
	running := jobstest.Reply{Status: 202}
	for _, c := range []struct {
		name  string
		kind  index.WriteKind
		poll  *inventory.Poll
		polls []jobstest.Reply
		gets  []jobstest.Reply
		gone  bool
	}{
		{"a create by Location", index.Put, location, []jobstest.Reply{running, running, {Status: 200, Body: `{}`}}, []jobstest.Reply{there}, false},
		{"one that failed", index.Put, location, []jobstest.Reply{running, {Status: 409}}, []jobstest.Reply{missing}, true},
		{"a delete by Location", index.Delete, location, []jobstest.Reply{running, {Status: 204}}, []jobstest.Reply{missing}, true},
		{"a create by its status", index.Put, async, []jobstest.Reply{statusIs("InProgress"), statusIs("Succeeded")}, []jobstest.Reply{there}, false},
		{"a delete by its status", index.Delete, async, []jobstest.Reply{statusIs("Deleting"), statusIs("Succeeded")}, []jobstest.Reply{missing}, true},
		{"a delete that failed", index.Delete, async, []jobstest.Reply{statusIs("Deleting"), statusIs("Failed")}, []jobstest.Reply{there}, false},
		{"a lost operation", index.Delete, async, []jobstest.Reply{statusIs("Deleting"), missing}, []jobstest.Reply{jobstest.State("Deleting"), missing}, true},
		{"a status that cannot be read for a while", index.Delete, async, []jobstest.Reply{{Status: 500}, {Status: 429, Header: "0"}, {Status: 400}, {Status: 403}, {Status: 408}, statusIs("Succeeded")}, []jobstest.Reply{missing}, true},
		{"a Location that cannot be read for a while", index.Put, location, []jobstest.Reply{{Status: 500}, {Status: 429, Header: "0"}, {Status: 401}, {Status: 200}}, []jobstest.Reply{there}, false},
		{"a create without a URL", index.Put, nil, nil, []jobstest.Reply{missing, missing, jobstest.State("Creating"), there}, false},
		{"a delete without a URL", index.Delete, nil, nil, []jobstest.Reply{jobstest.State("Deleting"), {Status: 500}, jobstest.State("Deleting"), missing}, true},
		{"a delete without a URL that failed", index.Delete, nil, nil, []jobstest.Reply{jobstest.State("Deleting"), jobstest.State("Failed")}, false},
		{"a create without a URL that was canceled", index.Put, nil, nil, []jobstest.Reply{missing, jobstest.State("Creating"), jobstest.State("Cancelled")}, false},
		{"a delete without a URL that was canceled", index.Delete, nil, nil, []jobstest.Reply{jobstest.State("Deleting"), jobstest.State("Cancelled")}, false},
		{"a delete that was canceled", index.Delete, async, []jobstest.Reply{statusIs("Deleting"), statusIs("Cancelled")}, []jobstest.Reply{jobstest.State("CANCELLED")}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			if c.kind == index.Delete {
				b.Live()
			}
			b.Say(where, c.polls...)
			b.Say(jobstest.Machine, c.gets...)
			b.Accept(c.kind, c.poll)
			b.run(b.Store)
			b.Within("the end", func() bool { return b.Gone() == c.gone && b.Alive() != c.gone })
			b.Within("the end of the jobs", func() bool { return len(b.Jobs()) == 0 })
			if n := b.Questions(where); n < len(c.polls) {
				t.Errorf("%d polls", n)
			}
		})
	}
}

// Operators see what a poll came to also where it had no content.
func TestPollsAreReported(t *testing.T) {
	b := newBench(t)
	b.Say("/poll", jobstest.Reply{Status: 202})
	b.Accept(index.Put, &inventory.Poll{Path: "/poll"})
	b.run(b.Store)
	b.Within("a poll", func() bool {
		follow, err := inventory.ReadFollow(b.Jobs()[0])
		return err == nil && follow.Progress.Status == "Accepted"
	})
}

// An operation exists for the caller who began it alone, so polls carry that caller.
// The resource is asked for on no one's behalf.
func TestPollsCarryTheCallerWhoBegan(t *testing.T) {
	b := newBench(t)
	b.Say("/poll", jobstest.Reply{Status: 204})
	b.Accept(index.Put, &inventory.Poll{Path: "/poll", TenantID: "tenant", ObjectID: "object"})
	b.run(b.Store)
	b.Within("settling", b.Alive)
	if poll, resource := b.Caller("/poll"), b.Caller(jobstest.Machine); poll != "tenant object" || resource != " " {
		t.Errorf("%q, %q", poll, resource)
	}
}

// A poll can name a further URL of the operation, but only the provider's own.
func TestPollsFollowTheProvidersOwnLocation(t *testing.T) {
	b := newBench(t)
	b.Live()
	b.Say("/first", jobstest.Reply{Status: 202, Header: "https://elsewhere.example/stolen"}, jobstest.Reply{Status: 202, Header: "/second?x"})
	b.Say("/second", jobstest.Reply{Status: 202}, jobstest.Reply{Status: 204})
	b.Say(jobstest.Machine, jobstest.Reply{Status: 404})
	b.Accept(index.Delete, &inventory.Poll{Path: "/first"})
	b.run(b.Store)
	b.Within("the end", b.Gone)
	if b.Questions("/first") != 2 || b.Questions("/second") < 2 || b.Questions("/stolen") != 0 {
		t.Errorf("polled %d and %d times", b.Questions("/first"), b.Questions("/second"))
	}
}

// A provider's pause counts for the next poll.
func TestPollsWaitForRetryAfter(t *testing.T) {
	b := newBench(t)
	b.Say("/poll", jobstest.Reply{Status: 202, Header: "3600"})
	b.Accept(index.Put, &inventory.Poll{Path: "/poll"})
	r := b.run(b.Store)
	b.Within("a poll", func() bool { return r.Metric(t, "portico_job_attempts_total", "follow", "again") > 0 })
	jobs := b.Jobs()
	if len(jobs) != 1 || time.Until(jobs[0].Due) < 50*time.Minute || jobs[0].Attempts != 0 {
		t.Errorf("%+v", jobs)
	}
}

// Whatever else a provider says, it is asked again when it wants to be: sooner
// would be an attempt of its own making.
func TestProbesWaitForRetryAfter(t *testing.T) {
	for _, status := range []int{408, 429, 500, 503, 409} {
		for _, kind := range []string{inventory.VerifyJob, inventory.FollowJob} {
			t.Run(fmt.Sprintf("%d to %s", status, kind), func(t *testing.T) {
				t.Parallel()
				b := newBench(t)
				if kind == inventory.VerifyJob { // no write is open: its end by time would ask at once
					b = newDoubtfulBench(t)
				} else {
					b.Accept(index.Put, nil)
				}
				b.Say(jobstest.Machine, jobstest.Reply{Status: status, Header: "3600"})
				r := b.run(b.Store)
				b.Within("a question", func() bool { return r.Metric(t, "portico_job_attempts_total", kind, "failed") > 0 })
				jobs := b.Jobs()
				if len(jobs) != 1 || jobs[0].Attempts != 1 || time.Until(jobs[0].Due) < 50*time.Minute || b.Questions(jobstest.Machine) != 1 {
					t.Errorf("%d questions, then %+v", b.Questions(jobstest.Machine), jobs)
				}
			})
		}
	}
}

// A connection that breaks costs an attempt, not the operation.
func TestBrokenConnectionsCostAnAttempt(t *testing.T) {
	b := newBench(t)
	b.Live()
	b.Say("/poll", jobstest.Reply{Status: jobstest.Reset}, jobstest.Reply{Status: jobstest.Reset}, jobstest.Reply{Status: jobstest.Reset}, jobstest.Reply{Status: jobstest.Reset}, jobstest.Reply{Status: jobstest.Reset}, jobstest.Reply{Status: 204})
	b.Say(jobstest.Machine, jobstest.Reply{Status: jobstest.Reset}, jobstest.Reply{Status: 502}, jobstest.Reply{Status: jobstest.Reset}, jobstest.Reply{Status: 404})
	b.Accept(index.Delete, &inventory.Poll{Path: "/poll"})
	b.run(b.Store)
	b.Within("the end", b.Gone)
	if b.Questions("/poll") < 6 || b.Questions(jobstest.Machine) < 4 {
		t.Errorf("%d polls, %d questions", b.Questions("/poll"), b.Questions(jobstest.Machine))
	}
}

// The end of an operation that a newer write has replaced ends nothing.
func TestReplacedOperationsEndNothing(t *testing.T) {
	b := newBench(t)
	b.Live()
	polled, replaced := make(chan struct{}), make(chan struct{})
	b.Hook = func(path string) {
		if path == "/old" {
			close(polled)
			<-replaced
		}
	}
	b.Say("/old", jobstest.Reply{Status: 200, Body: `{}`})
	b.Say("/new", jobstest.Reply{Status: 202})
	b.Say(jobstest.Machine, jobstest.State("Updating"))
	b.Accept(index.Put, &inventory.Poll{Path: "/old"})
	r := b.run(b.Store)
	<-polled
	b.Accept(index.Put, &inventory.Poll{Path: "/new"})
	close(replaced)
	b.Within("the end of the old one", func() bool { return r.Metric(t, "portico_job_attempts_total", "follow", "deposed") > 0 })
	b.Within("polls of the new one", func() bool { return b.Questions("/new") > 1 })
	if row, _ := b.Row(jobstest.Machine); !row.FollowPut || !row.Verify {
		t.Errorf("%+v", row)
	}
}

// An operation that takes too long is polled rarely, and counted.
func TestOperationsBeyondTheLimitAreCounted(t *testing.T) {
	b := newBench(t)
	b.Say("/poll", jobstest.Reply{Status: 202})
	b.Accept(index.Put, &inventory.Poll{Path: "/poll"})
	b.limit = 50 * time.Millisecond
	r := b.run(b.Store)
	b.Within("the metric", func() bool { return r.Metric(t, "portico_follows_over_limit") == 1 })
	b.Within("the pause", func() bool { jobs := b.Jobs(); return len(jobs) == 1 && time.Until(jobs[0].Due) > 50*time.Minute })
	if row, _ := b.Row(jobstest.Machine); !row.FollowPut {
		t.Errorf("%+v", row)
	}
}

// The log says what an attempt, or the count of a kind, was doing when the store failed.
func TestLogsSayWhatWasDoneWhenTheStoreFailed(t *testing.T) {
	for table, want := range map[string]string{
		"resources": "read the row that is to be verified: ",
		"fences":    "count fences: ",
	} {
		t.Run(table, func(t *testing.T) {
			b := newDoubtfulBench(t)
			db, err := sql.Open("sqlite", b.Path+"?_pragma=busy_timeout(5000)")
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if _, err := db.ExecContext(t.Context(), "DROP TABLE "+table); err != nil {
				t.Fatal(err)
			}
			core, logged := observer.New(zapcore.InfoLevel)
			b.Run(b.Store, map[string]jobs.Kind{
				inventory.VerifyJob: b.verifier(b.Store),
				inventory.FenceJob:  &reconcile.FenceWatcher{Prober: b.Prober(b.Store), Limit: time.Hour},
			}, func(o *jobs.Options) { o.Log = zap.New(core) })
			b.Within("a line in the log that says "+want, func() bool {
				return slices.ContainsFunc(logged.All(), func(line observer.LoggedEntry) bool {
					text, _ := line.ContextMap()["error"].(string)
					return strings.Contains(text, want)
				})
			})
		})
	}
}
