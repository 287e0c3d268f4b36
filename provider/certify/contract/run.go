package contract

import (
	"cmp"
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
	// Group is the resource group of everything that the run creates, "certify" if
	// empty. Cases about groups use further ones: Group-2 and so on.
	Group string
	// Workers is the number of cases that run at once, 4 if zero.
	Workers int
	Limits  Limits
	// Claimed lists the profiles that the provider claims; nil means all.
	Claimed []Profile
	// Disruptive runs the disruptive cases too.
	Disruptive bool
	// Cases limits the suite to these ids; nil means all.
	Cases []string

	controls *controls
	watch    *watch    // of the run
	room     *room     // in its results
	founding []*Answer // from creating the objects that all scenes share
}

// usualGroup is the resource group of a target that names none.
const usualGroup = "certify"

// usualWorkers is the number of cases that run at once by default.
const usualWorkers = 4

// Try checks every case on the target and reports each. Its error means that the suite
// could not run, never that a rule was broken.
func Try(ctx context.Context, target Target, to Reporter) error {
	if len(target.Adapter.Regions) == 0 {
		return errors.New("contract: the target has no region")
	}
	target.Group = cmp.Or(target.Group, usualGroup)
	target.Limits = target.Limits.orDefault()
	target.controls, target.watch, target.room = &controls{}, &watch{}, &room{}
	var err error
	if target.founding, err = target.prepare(ctx); err != nil {
		return fmt.Errorf("contract: %w", err)
	}
	workers := target.Workers
	if workers <= 0 {
		workers = usualWorkers
	}
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

// prepare creates the objects that all scenes share.
func (t Target) prepare(ctx context.Context) ([]*Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, t.Limits.Wait)
	defer cancel()
	registered, err := t.Adapter.prepare(ctx, t.Description)
	if err != nil {
		return nil, err
	}
	prepared, err := t.Adapter.putGroup(ctx, t.groupID(t.Group), t.Adapter.Regions[0])
	return append(registered, prepared...), err
}

// groupID returns the id of a resource group in the owner's subscription.
func (t Target) groupID(name string) string {
	return "/subscriptions/" + t.Adapter.Subscription + "/resourceGroups/" + name
}

// trial is a case on a type, or on none.
type trial struct {
	Case
	on *Type
}

// Trials returns the number of results of a run on the target.
func Trials(target Target) int { return len(plan(target)) }

// plan lists the trials for the target.
func plan(target Target) []trial {
	var trials []trial
	for _, c := range All() {
		if target.Cases != nil && !slices.Contains(target.Cases, c.ID) {
			continue
		}
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

// scenes numbers scenes, so that no two share a group or a name.
var scenes atomic.Int64

// stopped is the reason for leaving out the remaining cases of a run that ended early.
const stopped = "the run was stopped"

// run runs the trial, or gives the reason for leaving it out.
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
	case ctx.Err() != nil:
		result.Why = stopped
		return result
	}
	limited, cancel := context.WithTimeoutCause(ctx, target.Limits.Scene, fmt.Errorf("it has taken %s", target.Limits.Scene))
	defer cancel()
	s := newScene(limited, target, t, scenes.Add(1))
	if t.First || t.on == nil || !writable(t.on) || target.controls.passed(s) {
		s.play(t.Case)
	}
	if ctx.Err() != nil {
		result.Why = stopped
		return result
	}
	result.Outcome, result.Why = s.outcome()
	result.Why = clip(result.Why, longestText)
	switch {
	case result.Outcome != Kept:
	case !t.AtEnd:
		target.watch.recordKept()
	case !target.watch.keptAny():
		result.Outcome, result.Why = LeftOut, "the provider keeps no other rule"
	}
	if result.Faults = s.faults; result.Outcome == Unreached {
		result.Faults = s.obstacles
	}
	target.room.boundResult(&result)
	if result.Outcome == Broken {
		result.Script, result.Created = s.script(), s.createdIDs()
	}
	result.Took = time.Since(result.Began)
	return result
}
