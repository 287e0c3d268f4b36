package reconcile_test

import (
	"errors"
	"testing"
	"time"

	"portico/inventory"
	"portico/inventory/index"
	"portico/inventory/jobrow"
	"portico/jobs/jobstest"
)

// A runner that dies without a word leaves its job to another.
func TestAnotherRunnerTakesOverAfterTheLease(t *testing.T) {
	b := newDoubtfulBench(t)
	var dead []jobrow.Job
	b.Within("a claim", func() bool {
		var err error
		if dead, err = b.Store.Jobs.Claim(t.Context(), "dead", time.Second, 10); err != nil {
			t.Fatal(err)
		}
		return len(dead) == 1
	})
	b.run(b.Open())
	b.Within("the other's answer", b.Alive)
	if time.Now().Before(dead[0].Until) {
		t.Error("the job was taken from a holder whose lease was not over")
	}
	if err := b.Store.Jobs.End(t.Context(), dead[0], jobrow.Failed, "{}"); !errors.Is(err, jobrow.ErrLeaseLost) {
		t.Errorf("the dead one wrote: %v", err)
	}
}

// The runner expires a write without an answer, and its job verifies the row.
func TestExpiredWritesAreVerified(t *testing.T) {
	b := newBench(t)
	b.Live()
	b.Say(jobstest.Machine, jobstest.Reply{Status: 404})
	ticket, err := b.Store.Begin(t.Context(), inventory.Write{
		Kind: index.Delete, Subscription: jobstest.Subscription, Group: "g", Key: jobstest.Machine, ID: jobstest.Machine, Type: jobstest.Machines, Region: "westus",
	})
	if err != nil || ticket.Row == nil {
		t.Fatal(err)
	}
	b.run(b.Store)
	b.Within("what became of a write without an answer", b.Gone)
}
