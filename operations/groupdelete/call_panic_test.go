package groupdelete

import (
	"context"
	"testing"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"portico/jobs"
	"portico/operations/groupdelete/plan"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The deletion of a group gets the answer of a call that panicked, and tries it again.
func TestDeletionWhoseCallPanics(t *testing.T) {
	log, lines := observer.New(zap.ErrorLevel)
	w := &attempt{Deleter: &Deleter{Log: zap.New(log)}, claim: &jobs.Claim{}, answers: make(chan answer, 1)} // without a store
	m := &plan.Member{Key: "m"}
	w.launch(t.Context(), context.WithoutCancel(t.Context()), m)
	if a := <-w.answers; a.key != "m" || a.result.Outcome != plan.OutcomeUnsent || !a.stale {
		t.Errorf("%+v", a)
	}
	w.calls.Wait()
	if lines.FilterMessage("panic").Len() != 1 {
		t.Errorf("%v", lines.All())
	}
}
