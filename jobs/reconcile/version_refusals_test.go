package reconcile_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"portico/inventory"
	"portico/inventory/index"
	"portico/jobs/jobstest"
)

// begin makes a row that a job of a kind asks for.
func (b *bench) begin(kind string) {
	b.T.Helper()
	if kind == inventory.FollowJob {
		b.Accept(index.Put, nil)
		return
	}
	b.Write(index.Put, inventory.WriteResult{Outcome: index.Ambiguous})
}

// wantVersions asserts with which versions the machine was asked for.
func (b *bench) wantVersions(want ...string) {
	b.T.Helper()
	if got := b.Versions(); !slices.Equal(got, want) {
		b.T.Errorf("asked with %v, want %v", got, want)
	}
}

// What is refused as a question for long enough is asked with the newest version
// of its type, whose answers are proof like any other.
func TestRefusedVersionsFallBack(t *testing.T) {
	for _, kind := range []string{inventory.VerifyJob, inventory.FollowJob} {
		for _, status := range []int{400, 409, 410} {
			t.Run(fmt.Sprintf("%d to %s", status, kind), func(t *testing.T) {
				t.Parallel()
				b := newBench(t)
				b.Refusal, b.fallback = status, 10*time.Millisecond
				b.Say(jobstest.Machine, jobstest.State("Updating"), jobstest.State("Updating"), jobstest.State("Succeeded"))
				b.begin(kind)
				b.run(b.Store)
				b.Within("the answer", b.Alive)
				// It does not go back to what was refused.
				b.wantVersions("2024-01-01", "2025-01-01")
			})
		}
	}
}

// What does not speak of the question, or not for long enough, leaves it as it is.
func TestOtherAnswersDoNotFallBack(t *testing.T) {
	for _, kind := range []string{inventory.VerifyJob, inventory.FollowJob} {
		for _, status := range []int{401, 403, 408, 429, 500, 400} {
			t.Run(fmt.Sprintf("%d to %s", status, kind), func(t *testing.T) {
				t.Parallel()
				b := newBench(t)
				b.Refusal = status
				if status != 400 {
					b.fallback = time.Millisecond
				}
				b.begin(kind)
				b.run(b.Store)
				b.Within("questions", func() bool { return b.Questions(jobstest.Machine) >= 6 })
				b.wantVersions("2024-01-01")
			})
		}
	}
}
