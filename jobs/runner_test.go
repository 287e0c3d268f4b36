package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"portico/inventory/jobrow"
	"portico/jobs"
	"portico/jobs/jobstest"
)

// work is a kind made of a function.
type work func(ctx context.Context, claim *jobs.Claim) (jobs.Result, error)

func (work) Describe() jobs.Description { return jobs.Description{} }

func (w work) Run(ctx context.Context, claim *jobs.Claim) (jobs.Result, error) {
	return w(ctx, claim)
}

var done = jobs.Result{End: jobrow.Done}

// one is a single kind of work.
func one(name string, kind jobs.Kind) map[string]jobs.Kind { return map[string]jobs.Kind{name: kind} }

// A lease lasts for as long as its holder is at work.
func TestLeasesAreRenewed(t *testing.T) {
	b := jobstest.NewProvider(t)
	id := b.AddJob("long", "x")
	var started, ended atomic.Int32
	release := make(chan struct{})
	kind := work(func(ctx context.Context, _ *jobs.Claim) (jobs.Result, error) {
		started.Add(1)
		select {
		case <-release:
			ended.Add(1)
			return done, nil
		case <-ctx.Done():
			return jobs.Result{}, ctx.Err()
		}
	})
	// Long enough for a busy machine not to lose it.
	length := func(o *jobs.Options) { o.Lease = 5 * time.Second }
	first := b.Run(b.Store, one("long", kind), length)
	other := b.Run(b.Open(), one("long", kind), length)
	b.Within("the beginning", func() bool { return started.Load() == 1 })
	until := b.Load(id).Until
	b.Within("renewals", func() bool { return b.Load(id).Until.After(until.Add(time.Second)) })
	close(release)
	b.Within("the end", func() bool { return b.Load(id).State == jobrow.Done })
	b.Within("the count of one end", func() bool {
		return first.Metric(t, "portico_job_attempts_total", "long", "done")+other.Metric(t, "portico_job_attempts_total", "long", "done") == 1
	})
	if started.Load() != 1 || ended.Load() != 1 {
		t.Errorf("begun %d times, ended %d times", started.Load(), ended.Load())
	}
}

// The context of a deposed attempt is cancelled, and its result counts for nothing.
func TestDeposedAttemptsAreCancelled(t *testing.T) {
	b := jobstest.NewProvider(t)
	id := b.AddJob("long", "x")
	cancelled := errors.New("its context was not cancelled")
	ended := make(chan error, 1)
	r := b.Run(b.Store, one("long", work(func(ctx context.Context, claim *jobs.Claim) (jobs.Result, error) {
		if claim.Job.State == jobrow.Cancelling {
			return jobs.Result{End: jobrow.Cancelled, Payload: `{"progress":"undone"}`}, nil
		}
		select {
		case <-ctx.Done():
			cancelled = nil
		case <-time.After(20 * time.Second):
		}
		ended <- cancelled
		return jobs.Result{End: jobrow.Done, Payload: `{"progress":"a lie"}`}, nil
	})), func(o *jobs.Options) { o.Lease = 3 * time.Second }) // not lost before it is taken
	b.Within("the beginning", func() bool { return b.Load(id).Owner != "" })
	if err := b.Open().CancelJob(t.Context(), jobstest.Subscription, id); err != nil {
		t.Fatal(err)
	}
	b.Within("the cancelling", func() bool { return b.Load(id).State == jobrow.Cancelled })
	if err := <-ended; err != nil {
		t.Error("the deposed attempt went on")
	}
	b.Within("its end", func() bool { return r.Metric(t, "portico_job_attempts_total", "long", "deposed") == 1 })
	if j := b.Load(id); j.Payload != `{"progress":"undone"}` {
		t.Errorf("%+v", j)
	}
}

// Each attempt is a step of its job's history: with its error, or where its kind says that
// the job stands.
func TestAttemptsAreStepsOfTheirJob(t *testing.T) {
	b := jobstest.NewProvider(t)
	id := b.AddJob("long", "x")
	var attempts atomic.Int32
	kind := described{work(func(context.Context, *jobs.Claim) (jobs.Result, error) {
		switch attempts.Add(1) {
		case 1:
			return jobs.Result{}, errors.New("the region is down")
		case 2:
			return jobs.Result{Again: time.Millisecond, Payload: `{"n":2}`}, nil
		}
		return done, nil
	})}
	b.Run(b.Store, one("long", kind), func(o *jobs.Options) { o.Owner = "me" })
	b.Within("the end", func() bool { return b.Load(id).State == jobrow.Done })
	steps, err := b.Store.Jobs.History(t.Context(), jobstest.Subscription, id)
	got := ""
	for _, s := range steps {
		got += fmt.Sprintf("%s %s: %s; ", s.Replica, s.Outcome, s.Did)
	}
	if want := `me done: It is at {"n":2}; me again: It is at {"n":2}; me failed: the region is down; `; err != nil || got != want {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}

// Steps that repeat are one step, with their number and the first time, however many there are:
// they do not push out what came before.
func TestAttemptsThatRepeatAreOneStep(t *testing.T) {
	b := jobstest.NewProvider(t)
	id := b.AddJob("long", "x")
	const repeats = 200
	var attempts atomic.Int32
	kind := described{work(func(context.Context, *jobs.Claim) (jobs.Result, error) {
		switch n := attempts.Add(1); {
		case n == 1:
			return jobs.Result{Again: time.Microsecond, Payload: `{"n":1}`}, nil
		case n <= 1+repeats:
			return jobs.Result{Again: time.Microsecond}, errors.New(strings.Repeat("ö<\n\x80", 100))
		}
		return done, nil
	})}
	b.Run(b.Store, one("long", kind), func(o *jobs.Options) { o.Owner = "me" })
	b.Within("the end", func() bool { return b.Load(id).State == jobrow.Done })
	steps, err := b.Store.Jobs.History(t.Context(), jobstest.Subscription, id)
	if err != nil || len(steps) != 3 || steps[0].Outcome != "done" || steps[1].Times != repeats || steps[2].Times != 0 {
		t.Fatalf("%+v, %v", steps, err)
	}
	if s := steps[1]; s.Outcome != "failed" || !strings.HasPrefix(s.Did, "ö<\nö") || len(s.Did) > 200 || s.Since.Before(steps[2].At) || !s.At.After(s.Since) || !steps[2].Since.IsZero() {
		t.Errorf("%+v after %+v", s, steps[2])
	}
}

// described says of its jobs what their payload is.
type described struct{ work }

func (described) Describe() jobs.Description {
	return jobs.Description{Show: func(j jobrow.Job) jobs.ProgressReport { return jobs.ProgressReport{Outcome: "It is at " + j.Payload} }}
}

// A runner that ends gives back what it holds.
func TestEndingRunnersReleaseTheirJobs(t *testing.T) {
	b := jobstest.NewProvider(t)
	id := b.AddJob("long", "x")
	var started atomic.Int32
	kind := work(func(ctx context.Context, claim *jobs.Claim) (jobs.Result, error) {
		started.Add(1)
		if err := claim.Save(ctx, `{"progress":1}`); err != nil {
			return jobs.Result{}, err
		}
		<-ctx.Done()
		return jobs.Result{}, ctx.Err()
	})
	slow := func(o *jobs.Options) { o.Lease = time.Hour }
	first := b.Run(b.Store, one("long", kind), slow)
	b.Within("progress", func() bool { return b.Load(id).Payload == `{"progress":1}` })
	first.Stop()
	if j := b.Load(id); j.Owner != "" || j.Due.After(time.Now().Add(time.Second)) || j.Payload != `{"progress":1}` {
		t.Errorf("%+v", j)
	}
	if n := first.Metric(t, "portico_job_attempts_total", "long", "released"); n != 1 {
		t.Errorf("%v were released", n)
	}
	b.Run(b.Open(), one("long", kind), slow)
	b.Within("the other's turn", func() bool { return started.Load() == 2 })
}

// What goes wrong in one attempt stays in it.
func TestPanicsStayInTheirAttempt(t *testing.T) {
	b := jobstest.NewProvider(t)
	id := b.AddJob("wild", "x")
	r := b.Run(b.Store, one("wild", work(func(_ context.Context, claim *jobs.Claim) (jobs.Result, error) {
		switch claim.Job.Attempts {
		case 1:
			panic("wild")
		case 2:
			return jobs.Result{}, errors.New("not now")
		case 3:
			return jobs.Result{}, nil
		}
		return done, nil
	})))
	b.Within("the end", func() bool { return b.Load(id).State == jobrow.Done })
	for _, outcome := range []string{"panicked", "failed", "unfinished", "done"} {
		b.Within(outcome, func() bool { return r.Metric(t, "portico_job_attempts_total", "wild", outcome) == 1 })
	}
}

// Much work of one kind that hangs does not keep another kind from its turn,
// and more work than there are slots is done all the same.
func TestKindsDoNotStarveEachOther(t *testing.T) {
	b := jobstest.NewProvider(t)
	for i := range 40 {
		b.AddJob("slow", fmt.Sprint(i))
	}
	release := make(chan struct{})
	var most, now atomic.Int32
	r := b.Run(b.Store, map[string]jobs.Kind{
		"slow": work(func(context.Context, *jobs.Claim) (jobs.Result, error) {
			for n := now.Add(1); ; {
				if old := most.Load(); n <= old || most.CompareAndSwap(old, n) {
					break
				}
			}
			defer now.Add(-1)
			<-release
			return done, nil
		}),
		"quick": work(func(context.Context, *jobs.Claim) (jobs.Result, error) { return done, nil }),
	}, func(o *jobs.Options) { o.Lease = time.Minute })
	b.Within("all slots taken", func() bool { return r.Metric(t, "portico_jobs", "slow", "running") == 16 })
	quick := b.AddJob("quick", "x")
	b.Within("the quick one", func() bool { return b.Load(quick).State == jobrow.Done })
	b.Within("the count", func() bool { return r.Metric(t, "portico_jobs", "slow", "stored") == 40 })
	close(release)
	b.Within("all of them", func() bool { return r.Metric(t, "portico_job_attempts_total", "slow", "done") == 40 })
	if most.Load() != 16 {
		t.Errorf("%d at a time", most.Load())
	}
}

// Work in regions that hang, however much and in however many, does not keep that
// of another region from its turn.
func TestRegionsDoNotStarveEachOther(t *testing.T) {
	b := jobstest.NewProvider(t)
	for i := range 7 {
		for j := range 30 {
			b.AddJobIn(fmt.Sprint("hanging", i), "work", fmt.Sprint(i, " ", j))
		}
	}
	release := make(chan struct{})
	r := b.Run(b.Store, one("work", work(func(ctx context.Context, claim *jobs.Claim) (jobs.Result, error) {
		if claim.Job.Region == "well" {
			return done, nil
		}
		select {
		case <-release:
			return done, nil
		case <-ctx.Done():
			return jobs.Result{}, ctx.Err()
		}
	})), func(o *jobs.Options) { o.Lease = time.Minute })
	b.Within("all slots taken", func() bool { return r.Metric(t, "portico_jobs", "work", "running") >= 64 })
	for i := range 3 {
		well := b.AddJobIn("well", "work", fmt.Sprint("well", i))
		b.Within("the one in another region", func() bool { return b.Load(well).State == jobrow.Done })
	}
	if n := r.Metric(t, "portico_job_attempts_total", "work", "done"); n > 3 {
		t.Errorf("%v attempts had ended by then", n)
	}
	if n := r.Metric(t, "portico_jobs", "work", "running"); n > 64+7 {
		t.Errorf("%v at a time", n)
	}
	close(release)
	b.Within("all of them", func() bool { return r.Metric(t, "portico_job_attempts_total", "work", "done") == 7*30+3 })
}

// Work that was begun ends by the kind that began it; what is begun later is the
// next one's.
func TestKindsAreReplaced(t *testing.T) {
	b := jobstest.NewProvider(t)
	release := make(chan struct{})
	by := func(name string, wait <-chan struct{}) jobs.Kind {
		return work(func(context.Context, *jobs.Claim) (jobs.Result, error) {
			<-wait
			return jobs.Result{End: jobrow.Done, Payload: name}, nil
		})
	}
	r := b.Run(b.Store, one("work", by("old", release)), func(o *jobs.Options) { o.Lease = time.Minute })
	started := b.AddJob("work", "begun")
	b.Within("it is begun", func() bool { return r.Metric(t, "portico_jobs", "work", "running") == 1 })
	open := make(chan struct{})
	close(open)
	r.Replace(map[string]jobs.Kind{"work": by("new", open)})
	later := b.AddJob("work", "later")
	b.Within("what came later", func() bool { return b.Load(later).State == jobrow.Done })
	close(release)
	b.Within("what was begun", func() bool { return b.Load(started).State == jobrow.Done })
	if got := b.Load(started).Payload + ", " + b.Load(later).Payload; got != "old, new" {
		t.Errorf("done by %s", got)
	}
}

// lasting is a kind that counts what it has of its predecessors.
type lasting struct {
	work
	starts, before int
}

func (k *lasting) Start(prometheus.Registerer) { k.starts++ }
func (k *lasting) Succeed(before jobs.Kind)    { k.before = before.(*lasting).before + 1 }

// The first kind of a name is started; each that replaces it succeeds the one before.
func TestKindsSucceedEachOther(t *testing.T) {
	first, second, third := &lasting{}, &lasting{}, &lasting{}
	r := jobs.NewRunner(jobs.Options{Kinds: one("k", first), Metrics: prometheus.NewRegistry()})
	r.Replace(one("k", second))
	r.Replace(one("k", third))
	if first.starts != 1 || second.starts+third.starts != 0 || second.before != 1 || third.before != 2 {
		t.Errorf("%+v, %+v, %+v", first, second, third)
	}
}

// What no one takes is seen.
func TestOverdueJobsAreCounted(t *testing.T) {
	b := jobstest.NewProvider(t)
	release := make(chan struct{})
	for i := range 20 {
		b.AddJob("slow", fmt.Sprint(i))
	}
	r := b.Run(b.Store, one("slow", work(func(context.Context, *jobs.Claim) (jobs.Result, error) {
		<-release
		return done, nil
	})), func(o *jobs.Options) { o.Lease = 50 * time.Millisecond })
	b.Within("the count", func() bool { return r.Metric(t, "portico_jobs_overdue", "slow") > 0 })
	if r.Metric(t, "portico_jobs_overdue_seconds", "slow") < 0.15 {
		t.Error("overdue too soon")
	}
	close(release)
	b.Within("its end", func() bool { return r.Metric(t, "portico_jobs_overdue", "slow") == 0 })
}

// What comes to nothing again and again is seen, also where its provider says
// when to come back; what only goes on is not.
func TestJobsThatKeepFailingAreCounted(t *testing.T) {
	b := jobstest.NewProvider(t)
	b.AddJob("vain", "x")
	b.AddJob("again", "x")
	r := b.Run(b.Store, map[string]jobs.Kind{
		"vain": work(func(context.Context, *jobs.Claim) (jobs.Result, error) {
			return jobs.Result{Again: jobstest.Floor}, errors.New("not now")
		}),
		"again": work(func(context.Context, *jobs.Claim) (jobs.Result, error) {
			return jobs.Result{Again: jobstest.Floor}, nil
		}),
	})
	b.Within("the count", func() bool { return r.Metric(t, "portico_jobs_put_off", "vain") == 1 })
	b.Within("as many attempts", func() bool {
		return r.Metric(t, "portico_job_attempts_total", "again", "again") > jobrow.ManyAttempts
	})
	if n := r.Metric(t, "portico_jobs_put_off", "again"); n != 0 {
		t.Errorf("%v jobs that go on count as put off", n)
	}
}
