package operations

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"portico/inventory"
)

// kindFunc is a kind of work that is a function.
type kindFunc func(context.Context, *Held) (Verdict, error)

func (f kindFunc) Run(ctx context.Context, h *Held) (Verdict, error) { return f(ctx, h) }

// A caller's jobs beyond its share come again; those of others, and those of nobody,
// are worked on.
func TestSharedKind(t *testing.T) {
	begun, release := make(chan struct{}), make(chan struct{})
	kind := Shared{
		Kind: kindFunc(func(_ context.Context, h *Held) (Verdict, error) {
			if h.Job.Payload == "held" {
				begun <- struct{}{}
				<-release
			}
			return Verdict{End: inventory.JobDone}, nil
		}),
		Shares: NewShares(0.25),
		Caller: func(_ context.Context, j inventory.Job) (string, error) {
			if j.Subject == "" {
				return "", errors.New("it cannot be read")
			}
			return j.Subject, nil
		},
		Pause: time.Minute,
	}
	run := func(caller, payload string) Verdict {
		verdict, err := kind.Run(t.Context(), &Held{Job: inventory.Job{Subject: caller, Payload: payload}})
		if err != nil {
			t.Error(err)
		}
		return verdict
	}
	var wait sync.WaitGroup
	for range slots {
		wait.Go(func() { run("alice", "held") })
		<-begun
	}
	if v := run("alice", ""); v.Again != time.Minute {
		t.Errorf("one more of the same caller: %+v", v)
	}
	for _, other := range []string{"bob", ""} {
		if v := run(other, ""); v.End != inventory.JobDone {
			t.Errorf("%q: %+v", other, v)
		}
	}
	close(release)
	wait.Wait()
	if v := run("alice", ""); v.End != inventory.JobDone {
		t.Errorf("afterwards: %+v", v)
	}
	if n := slotsOf(kind); n != 4*slots {
		t.Errorf("%d slots", n)
	}
}
