package sweep

import (
	"errors"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"portico/limits"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A panic on a goroutine of a sweep's own ends the sweep, not the process.
func TestGroupWhosePiecePanics(t *testing.T) {
	g, slots := &workGroup{}, limits.NewConcurrency(1, 1, nil)
	g.do(t.Context(), slots, func() error { panic("wild") })
	err := g.wait(t.Context())
	var p *limits.Panic
	if !errors.As(err, &p) || p.Value != "wild" || !strings.Contains(string(p.Stack), "TestGroupWhosePiecePanics") {
		t.Errorf("%v", err)
	}
	if !slots.TryAcquire("") {
		t.Error("its slot was not given back")
	}
}
