package operations_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"portico/inventory"
)

// begin makes a row that a job of a kind asks for.
func (b *bench) begin(kind string) {
	b.t.Helper()
	if kind == inventory.FollowJob {
		b.accept(inventory.Put, nil)
		return
	}
	b.write(inventory.Put, inventory.Answer{Outcome: inventory.Ambiguous})
}

// wantVersions asserts with which versions the machine was asked for.
func (b *bench) wantVersions(want ...string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.Equal(b.versions, want) {
		b.t.Errorf("asked with %v, want %v", b.versions, want)
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
				b.refusal, b.fallback = status, 10*time.Millisecond
				b.say(machine, state("Updating"), state("Updating"), state("Succeeded"))
				b.begin(kind)
				b.run(b.store)
				b.within("the answer", b.alive)
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
				b.refusal = status
				if status != 400 {
					b.fallback = time.Millisecond
				}
				b.begin(kind)
				b.run(b.store)
				b.within("questions", func() bool { return b.questions(machine) >= 6 })
				b.wantVersions("2024-01-01")
			})
		}
	}
}
