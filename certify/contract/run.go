package contract

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
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
	// Claimed are the profiles that the provider claims; nil means all.
	Claimed []Profile
	// Disruptive runs the disruptive cases too.
	Disruptive bool
	// AnswerWithin is how long a front door waits for an answer, 60 seconds if zero.
	AnswerWithin time.Duration

	watch *watch // of the run
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
	target.watch = &watch{}
	trials := make(chan trial)
	var done sync.WaitGroup
	for range workers {
		done.Go(func() {
			for t := range trials {
				to.Report(t.run(ctx, target))
			}
		})
	}
	var atEnd []trial
	for _, t := range plan(target) {
		if t.AtEnd {
			atEnd = append(atEnd, t)
			continue
		}
		trials <- t
	}
	close(trials)
	done.Wait()
	for _, t := range atEnd {
		to.Report(t.run(ctx, target))
	}
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

// run runs the trial, or says why it is left out.
func (t trial) run(ctx context.Context, target Target) Result {
	result := Result{
		Case: t.ID, Profile: t.Profile, Section: t.Section, Guideline: t.Guideline, Rule: t.Rule, Through: t.Through,
		Outcome: LeftOut, Began: time.Now(),
	}
	if t.on != nil {
		result.Type = t.on.FullName()
	}
	switch {
	case target.Claimed != nil && !slices.Contains(target.Claimed, t.Profile):
		result.Why = fmt.Sprintf("the profile %s is not claimed", t.Profile)
		return result
	case t.Disruptive && !target.Disruptive:
		result.Why = "the case is disruptive"
		return result
	}
	ctx, cancel := context.WithTimeout(ctx, sceneLimit)
	defer cancel()
	s := newScene(ctx, target, t.on, scenes.Add(1))
	s.play(t.Run)
	result.Outcome, result.Why = s.outcome()
	result.Faults, result.Took = s.faults, time.Since(result.Began)
	return result
}
