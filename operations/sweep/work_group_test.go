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
	g, slots := &workGroup{}, make(chan struct{}, 1)
	g.do(t.Context(), slots, func() error { panic("wild") })
	err := g.wait(t.Context())
	var p *limits.Panic
	if !errors.As(err, &p) || p.Value != "wild" || !strings.Contains(string(p.Stack), "TestGroupWhosePiecePanics") {
		t.Errorf("%v", err)
	}
	if len(slots) != 0 {
		t.Error("its slot was not given back")
	}
}
