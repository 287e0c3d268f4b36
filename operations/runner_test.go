package operations_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"portico/inventory"
	"portico/operations"
)

// work is a kind made of a function.
type work func(ctx context.Context, h *operations.Held) (operations.Verdict, error)

func (w work) Run(ctx context.Context, h *operations.Held) (operations.Verdict, error) {
	return w(ctx, h)
}

var done = operations.Verdict{End: inventory.JobDone}

// A runner that dies without a word leaves its job to another.
func TestTakeover(t *testing.T) {
	b := newBench(t)
	b.live()
	if err := b.store.Doubt(t.Context(), subscription, machine); err != nil {
		t.Fatal(err)
	}
	var dead []inventory.Job
	b.within("a claim", func() bool {
		var err error
		if dead, err = b.store.ClaimJobs(t.Context(), "dead", time.Second, 10); err != nil {
			t.Fatal(err)
		}
		return len(dead) == 1
	})
	b.run(b.open())
	b.within("the other's answer", b.alive)
	if time.Now().Before(dead[0].Until) {
		t.Error("the job was taken from a holder whose lease was not over")
	}
	if err := b.store.EndJob(t.Context(), dead[0], inventory.JobFailed, "{}"); !errors.Is(err, inventory.ErrDeposed) {
		t.Errorf("the dead one wrote: %v", err)
	}
}

// A lease lasts for as long as its holder is at work.
func TestLeasesAreRenewed(t *testing.T) {
	b := newBench(t)
	id := b.job("long", "x")
	var begun, ended atomic.Int32
	release := make(chan struct{})
	kind := work(func(ctx context.Context, _ *operations.Held) (operations.Verdict, error) {
		begun.Add(1)
		select {
		case <-release:
			ended.Add(1)
			return done, nil
		case <-ctx.Done():
			return operations.Verdict{}, ctx.Err()
		}
	})
	// Long enough for a busy machine not to lose it.
	length := func(o *operations.RunnerOptions) { o.Lease = 5 * time.Second }
	first := b.run(b.store, with("long", kind), length)
	other := b.run(b.open(), with("long", kind), length)
	b.within("the beginning", func() bool { return begun.Load() == 1 })
	until := b.load(id).Until
	b.within("renewals", func() bool { return b.load(id).Until.After(until.Add(time.Second)) })
	close(release)
	b.within("the end", func() bool { return b.load(id).State == inventory.JobDone })
	b.within("the count of one end", func() bool {
		return first.metric(t, "portico_job_attempts_total", "long", "done")+other.metric(t, "portico_job_attempts_total", "long", "done") == 1
	})
	if begun.Load() != 1 || ended.Load() != 1 {
		t.Errorf("begun %d times, ended %d times", begun.Load(), ended.Load())
	}
}

// Whoever is deposed is told by its context, and what it says then is nothing.
func TestDeposed(t *testing.T) {
	b := newBench(t)
	id := b.job("long", "x")
	cancelled := errors.New("not told")
	told := make(chan error, 1)
	r := b.run(b.store, with("long", work(func(ctx context.Context, h *operations.Held) (operations.Verdict, error) {
		if h.Job.State == inventory.JobCancelling {
			return operations.Verdict{End: inventory.JobCancelled, Payload: `{"progress":"undone"}`}, nil
		}
		select {
		case <-ctx.Done():
			cancelled = nil
		case <-time.After(20 * time.Second):
		}
		told <- cancelled
		return operations.Verdict{End: inventory.JobDone, Payload: `{"progress":"a lie"}`}, nil
	})), func(o *operations.RunnerOptions) { o.Lease = 3 * time.Second }) // not lost before it is taken
	b.within("the beginning", func() bool { return b.load(id).Owner != "" })
	if err := b.open().CancelJob(t.Context(), subscription, id); err != nil {
		t.Fatal(err)
	}
	b.within("the cancelling", func() bool { return b.load(id).State == inventory.JobCancelled })
	if err := <-told; err != nil {
		t.Error("the deposed one was not told")
	}
	b.within("its end", func() bool { return r.metric(t, "portico_job_attempts_total", "long", "deposed") == 1 })
	if j := b.load(id); j.Payload != `{"progress":"undone"}` {
		t.Errorf("%+v", j)
	}
}

// A runner that ends gives back what it holds.
func TestHandingOver(t *testing.T) {
	b := newBench(t)
	id := b.job("long", "x")
	var begun atomic.Int32
	kind := work(func(ctx context.Context, h *operations.Held) (operations.Verdict, error) {
		begun.Add(1)
		if err := h.Save(ctx, `{"progress":1}`); err != nil {
			return operations.Verdict{}, err
		}
		<-ctx.Done()
		return operations.Verdict{}, ctx.Err()
	})
	slow := func(o *operations.RunnerOptions) { o.Lease = time.Hour }
	first := b.run(b.store, with("long", kind), slow)
	b.within("progress", func() bool { return b.load(id).Payload == `{"progress":1}` })
	first.stop()
	if j := b.load(id); j.Owner != "" || j.Due.After(time.Now().Add(time.Second)) || j.Payload != `{"progress":1}` {
		t.Errorf("%+v", j)
	}
	if n := first.metric(t, "portico_job_attempts_total", "long", "released"); n != 1 {
		t.Errorf("%v were released", n)
	}
	b.run(b.open(), with("long", kind), slow)
	b.within("the other's turn", func() bool { return begun.Load() == 2 })
}

// What goes wrong in one attempt stays in it.
func TestPanics(t *testing.T) {
	b := newBench(t)
	id := b.job("wild", "x")
	r := b.run(b.store, with("wild", work(func(_ context.Context, h *operations.Held) (operations.Verdict, error) {
		switch h.Job.Attempts {
		case 1:
			panic("wild")
		case 2:
			return operations.Verdict{}, errors.New("not now")
		case 3:
			return operations.Verdict{}, nil
		}
		return done, nil
	})))
	b.within("the end", func() bool { return b.load(id).State == inventory.JobDone })
	for _, outcome := range []string{"panicked", "failed", "unfinished", "done"} {
		b.within(outcome, func() bool { return r.metric(t, "portico_job_attempts_total", "wild", outcome) == 1 })
	}
}

// Much work of one kind that hangs does not keep another kind from its turn,
// and more work than there are slots is done all the same.
func TestKindsDoNotStarveEachOther(t *testing.T) {
	b := newBench(t)
	for i := range 40 {
		b.job("slow", fmt.Sprint(i))
	}
	release := make(chan struct{})
	var most, now atomic.Int32
	r := b.run(b.store, func(o *operations.RunnerOptions) {
		o.Lease = time.Minute
		o.Kinds = map[string]operations.Kind{
			"slow": work(func(context.Context, *operations.Held) (operations.Verdict, error) {
				for n := now.Add(1); ; {
					if old := most.Load(); n <= old || most.CompareAndSwap(old, n) {
						break
					}
				}
				defer now.Add(-1)
				<-release
				return done, nil
			}),
			"quick": work(func(context.Context, *operations.Held) (operations.Verdict, error) { return done, nil }),
		}
	})
	b.within("all slots taken", func() bool { return r.metric(t, "portico_jobs", "slow", "running") == 16 })
	quick := b.job("quick", "x")
	b.within("the quick one", func() bool { return b.load(quick).State == inventory.JobDone })
	b.within("the count", func() bool { return r.metric(t, "portico_jobs", "slow", "stored") == 40 })
	close(release)
	b.within("all of them", func() bool { return r.metric(t, "portico_job_attempts_total", "slow", "done") == 40 })
	if most.Load() != 16 {
		t.Errorf("%d at a time", most.Load())
	}
}

// Work in regions that hang, however much and in however many, does not keep that
// of another region from its turn.
func TestRegionsDoNotStarveEachOther(t *testing.T) {
	b := newBench(t)
	for i := range 7 {
		for j := range 30 {
			b.jobIn(fmt.Sprint("hanging", i), "work", fmt.Sprint(i, " ", j))
		}
	}
	release := make(chan struct{})
	r := b.run(b.store, with("work", work(func(ctx context.Context, h *operations.Held) (operations.Verdict, error) {
		if h.Job.Region == "well" {
			return done, nil
		}
		select {
		case <-release:
			return done, nil
		case <-ctx.Done():
			return operations.Verdict{}, ctx.Err()
		}
	})), func(o *operations.RunnerOptions) { o.Lease = time.Minute })
	b.within("all slots taken", func() bool { return r.metric(t, "portico_jobs", "work", "running") >= 64 })
	for i := range 3 {
		well := b.jobIn("well", "work", fmt.Sprint("well", i))
		b.within("the one in another region", func() bool { return b.load(well).State == inventory.JobDone })
	}
	if n := r.metric(t, "portico_job_attempts_total", "work", "done"); n > 3 {
		t.Errorf("%v attempts had ended by then", n)
	}
	if n := r.metric(t, "portico_jobs", "work", "running"); n > 64+7 {
		t.Errorf("%v at a time", n)
	}
	close(release)
	b.within("all of them", func() bool { return r.metric(t, "portico_job_attempts_total", "work", "done") == 7*30+3 })
}

// Work that was begun ends by the kind that began it; what is begun later is the
// next one's.
func TestKindsAreReplaced(t *testing.T) {
	b := newBench(t)
	release := make(chan struct{})
	by := func(name string, wait <-chan struct{}) operations.Kind {
		return work(func(context.Context, *operations.Held) (operations.Verdict, error) {
			<-wait
			return operations.Verdict{End: inventory.JobDone, Payload: name}, nil
		})
	}
	r := b.run(b.store, with("work", by("old", release)), func(o *operations.RunnerOptions) { o.Lease = time.Minute })
	begun := b.job("work", "begun")
	b.within("it is begun", func() bool { return r.metric(t, "portico_jobs", "work", "running") == 1 })
	open := make(chan struct{})
	close(open)
	r.Replace(map[string]operations.Kind{"work": by("new", open)})
	later := b.job("work", "later")
	b.within("what came later", func() bool { return b.load(later).State == inventory.JobDone })
	close(release)
	b.within("what was begun", func() bool { return b.load(begun).State == inventory.JobDone })
	if got := b.load(begun).Payload + ", " + b.load(later).Payload; got != "old, new" {
		t.Errorf("done by %s", got)
	}
}

// What nobody takes is seen.
func TestOverdue(t *testing.T) {
	b := newBench(t)
	release := make(chan struct{})
	for i := range 20 {
		b.job("slow", fmt.Sprint(i))
	}
	r := b.run(b.store, with("slow", work(func(context.Context, *operations.Held) (operations.Verdict, error) {
		<-release
		return done, nil
	})), func(o *operations.RunnerOptions) { o.Lease = 50 * time.Millisecond })
	b.within("the count", func() bool { return r.metric(t, "portico_jobs_overdue", "slow") > 0 })
	if r.metric(t, "portico_jobs_overdue_seconds", "slow") < 0.15 {
		t.Error("overdue too soon")
	}
	close(release)
	b.within("its end", func() bool { return r.metric(t, "portico_jobs_overdue", "slow") == 0 })
}

// What comes to nothing again and again is seen, also where its provider says
// when to come back; what only goes on is not.
func TestPutOff(t *testing.T) {
	b := newBench(t)
	b.job("vain", "x")
	b.job("again", "x")
	r := b.run(b.store, func(o *operations.RunnerOptions) {
		o.Kinds = map[string]operations.Kind{
			"vain": work(func(context.Context, *operations.Held) (operations.Verdict, error) {
				return operations.Verdict{Again: floor}, errors.New("not now")
			}),
			"again": work(func(context.Context, *operations.Held) (operations.Verdict, error) {
				return operations.Verdict{Again: floor}, nil
			}),
		}
	})
	b.within("the count", func() bool { return r.metric(t, "portico_jobs_put_off", "vain") == 1 })
	b.within("as many attempts", func() bool {
		return r.metric(t, "portico_job_attempts_total", "again", "again") > inventory.ManyAttempts
	})
	if n := r.metric(t, "portico_jobs_put_off", "again"); n != 0 {
		t.Errorf("%v jobs that go on count as put off", n)
	}
}

// The runner ends by time what time ends.
func TestHousekeeping(t *testing.T) {
	b := newBench(t)
	b.live()
	b.say(machine, reply{status: 404})
	ticket, err := b.store.Begin(t.Context(), inventory.Write{
		Kind: inventory.Delete, Subscription: subscription, Group: "g", Key: machine, ID: machine, Type: machines, Region: "westus",
	})
	if err != nil || ticket.Row == nil {
		t.Fatal(err)
	}
	b.run(b.store)
	b.within("what became of a write without an answer", b.gone)
}
