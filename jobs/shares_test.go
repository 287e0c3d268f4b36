package jobs

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"portico/inventory/jobrow"
)

// commissioned is a kind of work whose caller is the job's subject.
type commissioned func(*Claim) Result

func (commissioned) Describe() Description { return Description{} }

func (f commissioned) Run(_ context.Context, claim *Claim) (Result, error) { return f(claim), nil }

func (f commissioned) Caller(_ context.Context, j jobrow.Job) (string, error) {
	if j.Subject == "" {
		return "", errors.New("it cannot be read")
	}
	return j.Subject, nil
}

// A caller's jobs beyond its share come again; those of others, and those of no one,
// are worked on.
func TestCallersShareAKind(t *testing.T) {
	started, release := make(chan struct{}), make(chan struct{})
	kind := commissioned(func(claim *Claim) Result {
		if claim.Job.Payload == "held" {
			started <- struct{}{}
			<-release
		}
		return Result{End: jobrow.Done}
	})
	w := newWorker(&Runner{Options: Options{CallerShare: 0.25, Floor: time.Minute}}, "k", kind)
	run := func(caller, payload string) Result {
		result, err := w.shares.run(t.Context(), kind, &Claim{Job: jobrow.Job{Subject: caller, Payload: payload}})
		if err != nil {
			t.Error(err)
		}
		return result
	}
	var wait sync.WaitGroup
	for range slots {
		wait.Go(func() { run("alice", "held") })
		<-started
	}
	if v := run("alice", ""); v.Again != time.Minute {
		t.Errorf("one more of the same caller: %+v", v)
	}
	for _, other := range []string{"bob", ""} {
		if v := run(other, ""); v.End != jobrow.Done {
			t.Errorf("%q: %+v", other, v)
		}
	}
	close(release)
	wait.Wait()
	if v := run("alice", ""); v.End != jobrow.Done {
		t.Errorf("afterwards: %+v", v)
	}
	if n := w.slots.each; n != 4*slots {
		t.Errorf("%d slots", n)
	}
}
