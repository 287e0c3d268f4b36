package deletion

import (
	"context"
	"testing"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"portico/jobs/deletion/deletionplan"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A deletion gets the answer of a call that panicked, and tries it again.
func TestDeletionWhoseCallPanics(t *testing.T) {
	log, lines := observer.New(zap.ErrorLevel)
	d := &Driver{Log: zap.New(log), answers: make(chan CallResult, 1)}
	d.launch(t.Context(), t.Context(), &deletionplan.Resource{Key: "m"}, func(context.Context, context.Context) CallResult { panic("a fault") })
	if a := <-d.answers; a.Key != "m" || a.Outcome != deletionplan.OutcomeUnsent || !a.Stale {
		t.Errorf("%+v", a)
	}
	d.calls.Wait()
	if lines.FilterMessage("panic").Len() != 1 {
		t.Errorf("%v", lines.All())
	}
}
