package contract

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Target is a provider and how to reach it.
type Target struct {
	Adapter     *Adapter
	Description *Description
	// Types limits the suite to types for which it returns true; nil means all.
	Types func(*Type) bool
	// OnceEach runs each case only on the first type that it concerns.
	OnceEach bool
	// Workers is how many cases run at once, 16 if zero.
	Workers int
}

// Run checks every case on the target, and fails t for each broken rule, in a subtest
// named after the case.
func Run(t *testing.T, target Target) []Result {
	t.Helper()
	var r Recorder
	if err := Try(t.Context(), target, &r); err != nil {
		t.Fatal(err)
	}
	results := r.Results()
	for _, result := range results {
		name := result.Case
		if result.Type != "" {
			name += " on " + result.Type
		}
		t.Run(name, func(t *testing.T) {
			t.Logf("%s: %s", result.Section, result.Rule)
			if target.Adapter.Through && result.Through != "" {
				t.Logf("through the front door: %s", result.Through)
			}
			for _, f := range result.Faults {
				t.Errorf("\nexpected: %s\ngot:      %s", f.Expected, f.Got)
			}
		})
	}
	return results
}

// Try checks every case on the target and reports each. Its error means that the suite
// could not run, never that a rule was broken.
func Try(ctx context.Context, target Target, to Reporter) error {
	if len(target.Adapter.Regions) == 0 {
		return errors.New("contract: the target has no region")
	}
	if err := target.Adapter.prepare(ctx, target.Description); err != nil {
		return fmt.Errorf("contract: %w", err)
	}
	workers := target.Workers
	if workers == 0 {
		workers = 16
	}
	trials := make(chan trial)
	var done sync.WaitGroup
	for range workers {
		done.Go(func() {
			for t := range trials {
				if result, tried := t.run(ctx, target); tried {
					to.Report(result)
				}
			}
		})
	}
	for _, t := range plan(target) {
		trials <- t
	}
	close(trials)
	done.Wait()
	target.Adapter.Client.CloseIdleConnections()
	return ctx.Err()
}

// trial is a case on a type, or on none.
type trial struct {
	Case
	on *Type
}

// plan lists the trials for the target.
func plan(target Target) []trial {
	var trials []trial
	for _, c := range All() {
		if c.Side == StraightOnly && target.Adapter.Through || c.Side == ThroughOnly && !target.Adapter.Through {
			continue
		}
		if c.On == nil {
			trials = append(trials, trial{c, nil})
			continue
		}
		for _, t := range target.Description.types() {
			if !target.Adapter.serves(t) || !c.On(t) || target.Types != nil && !target.Types(t) {
				continue
			}
			trials = append(trials, trial{c, t})
			if c.Once || target.OnceEach {
				break
			}
		}
	}
	return trials
}

// sceneLimit bounds one trial.
const sceneLimit = 2 * time.Minute

// scenes numbers scenes, so that no two share a group or a name.
var scenes atomic.Int64

// run runs the trial. It returns false if the description gives no means to.
func (t trial) run(ctx context.Context, target Target) (result Result, tried bool) {
	result = Result{Case: t.Name, Section: t.Section, Rule: t.Rule, Through: t.Through}
	if t.on != nil {
		result.Type = t.on.FullName()
	}
	ctx, cancel := context.WithTimeout(ctx, sceneLimit)
	defer cancel()
	s := newScene(ctx, target, t.on, scenes.Add(1))
	s.play(t.Run)
	result.Faults = s.faults
	return result, !s.untried || len(s.faults) > 0
}
