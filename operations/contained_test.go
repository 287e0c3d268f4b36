package operations

import (
	"context"
	"errors"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"portico/limits"
)

// A panic on a goroutine of an attempt's own ends the attempt, not the process.
func TestCrewWhosePiecePanics(t *testing.T) {
	c, slots := newCrew(), make(chan struct{}, 1)
	c.do(t.Context(), slots, func() error { panic("wild") })
	err := c.wait(t.Context())
	var p *limits.Panic
	if !errors.As(err, &p) || p.Value != "wild" || !strings.Contains(string(p.Stack), "TestCrewWhosePiecePanics") {
		t.Errorf("%v", err)
	}
	if len(slots) != 0 {
		t.Error("its slot was not given back")
	}
}

// The deletion of a group hears of a call that panicked, and tries it again.
func TestDeletionWhoseCallPanics(t *testing.T) {
	log, lines := observer.New(zap.ErrorLevel)
	w := &deletionWork{GroupDeletion: &GroupDeletion{Log: zap.New(log)}, held: &Held{}, answers: make(chan answer, 1)} // without a store
	m := &member{key: "m"}
	w.launch(t.Context(), context.WithoutCancel(t.Context()), m)
	if a := <-w.answers; a.key != "m" || a.said.result != resultUnsent || !a.look {
		t.Errorf("%+v", a)
	}
	w.calls.Wait()
	if lines.FilterMessage("panic").Len() != 1 {
		t.Errorf("%v", lines.All())
	}
}
