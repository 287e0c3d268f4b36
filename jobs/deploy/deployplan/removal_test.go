package deployplan

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	deletion "portico/jobs/deletion/deletionplan"
)

// emptying is a deployment of one step in complete mode, in a group that holds two other
// resources, with what its providers know.
type emptying struct {
	plan     *Graph
	now      time.Time
	step     []Order         // under way
	calls    map[string]bool // deletions under way
	canceled bool
	written  map[string]bool // had a write of their own
}

// members copies what is left to delete.
func (e *emptying) members(state func(*deletion.Resource)) (left []*deletion.Resource) {
	for _, key := range slices.Sorted(maps.Keys(e.plan.removal.Resources)) {
		m := *e.plan.removal.Resources[key]
		if m.Blockers = slices.Clone(m.Blockers); state != nil {
			state(&m)
		}
		left = append(left, &m)
	}
	return left
}

func (e *emptying) clone(state func(*deletion.Resource)) *emptying {
	next := *e
	p := *e.plan
	p.Steps, next.step = slices.Clone(p.Steps), slices.Clone(e.step)
	next.plan, next.calls = &p, maps.Clone(e.calls)
	if p.removal != nil {
		left := e.members(state)
		p.remove(left, e.plan.removal.Total-len(left))
	}
	return &next
}

// remove begins the deletions of members, after so many have gone.
func (p *Graph) remove(members []*deletion.Resource, gone int) {
	p.Remove(nil)
	for _, m := range members {
		p.removal.Add(m)
	}
	p.removal.Resume(gone+len(members), gone, 0, 0)
}

func (e *emptying) key() string {
	text := fmt.Sprint(e.written, e.plan.Steps[0].State, e.plan.Steps[0].busy, e.step, e.canceled, max(0, e.plan.Steps[0].Due.Sub(e.now)), e.plan.removal != nil)
	if e.plan.removal == nil {
		return text
	}
	for _, m := range e.members(nil) {
		since := time.Duration(-1)
		if !m.Since.IsZero() {
			since = min(e.now.Sub(m.Since), bounds.Budget)
		}
		text += fmt.Sprint(";", m.Key, m.State, m.Orphan, m.Blockers, m.Tried, m.Busy, m.Again, min(m.Tries, 3), max(0, m.Due.Sub(e.now)), since)
	}
	return text
}

type emptyingWalk struct {
	t    *testing.T
	seen map[string]bool
	ends map[State]int
}

// found are the two resources, of which the second is refused while the first is there.
func found() []*deletion.Resource {
	return []*deletion.Resource{{Key: "/x", Type: "t", Endpoint: "a"}, {Key: "/y", Type: "u", Endpoint: "b"}}
}

func (k *emptyingWalk) explore(e *emptying) {
	if e.plan.Removes() {
		if s := e.plan.Steps[0].State; s != Succeeded || e.canceled {
			k.t.Fatalf("it deletes, and its step is %v: %s", s, e.key())
		}
		if end, over := e.plan.Over(); over {
			k.t.Fatalf("it is %v before anything was deleted: %s", end, e.key())
		}
		e.plan.remove(found(), 0)
	}
	e.step = append(e.step, e.plan.Next(e.now)...)
	if e.plan.removal != nil {
		for _, m := range e.plan.removal.Next(e.now) {
			if e.canceled {
				k.t.Fatalf("it deletes after it was canceled: %s", e.key())
			}
			e.calls[m.Key] = true
		}
	}
	key := e.key()
	if k.seen[key] {
		return
	}
	k.seen[key] = true
	if end, over := e.plan.Over(); over {
		k.finished(e, end)
		return
	}
	for i, o := range e.step {
		for _, outcome := range []Outcome{Done, Refused} {
			next := e.clone(nil)
			next.step = slices.Delete(next.step, i, i+1)
			next.plan.Settle(o, outcome, 0, next.now)
			k.explore(next)
		}
	}
	k.answers(e)
	if !e.canceled {
		next := e.clone(nil)
		next.canceled = true
		next.plan.Cancel()
		k.explore(next)
	}
	if len(e.step)+len(e.calls) > 0 {
		k.explore(k.killed(e))
		return
	}
	k.wait(e)
}

// answers goes on with each answer that a deletion may get, now or after it was accepted.
func (k *emptyingWalk) answers(e *emptying) {
	for key := range e.calls {
		for _, outcome := range []deletion.Outcome{deletion.OutcomeGone, deletion.OutcomeAccepted, deletion.OutcomeRefused, deletion.OutcomeTransient} {
			next := e.clone(nil)
			delete(next.calls, key)
			result := deletion.Result{Outcome: outcome}
			if outcome == deletion.OutcomeRefused && key == "/y" {
				result.Blockers, result.Named = []string{"/x"}, true
			}
			next.plan.Removal().OnResult(key, result, next.now)
			k.explore(next)
		}
		k.refusedWhileBusy(e, key)
	}
	if e.plan.removal == nil {
		return
	}
	for key, m := range e.plan.removal.Resources {
		if m.State == deletion.Parked && m.Busy != "" {
			ended := e.clone(nil)
			ended.plan.Removal().Observe(key, deletion.RowState{})
			k.explore(ended)
		}
		if m.State != deletion.Accepted {
			continue
		}
		gone, stays := e.clone(nil), e.clone(nil)
		gone.plan.Removal().Drop(key)
		k.explore(gone)
		stays.plan.Removal().Observe(key, deletion.RowState{Failure: deletion.Result{Outcome: deletion.OutcomeRefused}})
		k.explore(stays)
	}
}

// refusedWhileBusy goes on with the refusal of a deletion while a write of its resource runs,
// which each resource has once.
func (k *emptyingWalk) refusedWhileBusy(e *emptying, key string) {
	if e.written[key] {
		return
	}
	next := e.clone(nil)
	delete(next.calls, key)
	next.written = maps.Clone(e.written)
	next.written[key] = true
	next.plan.Removal().OnResult(key, deletion.Result{Outcome: deletion.OutcomeRefused, Busy: "PUT"}, next.now)
	k.explore(next)
}

// killed is the deployment in another process: what it was sending is asked for, or, of
// deletions, sent again.
func (k *emptyingWalk) killed(e *emptying) *emptying {
	next := e.clone(func(m *deletion.Resource) {
		r := m.Record()
		*m = deletion.Resource{Key: m.Key, Type: m.Type, Endpoint: m.Endpoint}
		if m.Restore(r); r.State == deletion.InFlight && e.canceled {
			m.State, m.Orphan = deletion.Accepted, true
		}
	})
	for _, o := range next.step {
		if o.Act == Send {
			next.plan.Steps[o.Step].State = Sent
		}
		next.plan.Steps[o.Step].busy = false
	}
	next.step, next.calls = nil, map[string]bool{}
	return next
}

// wait lets time pass until something is due; what is accepted needs none.
func (k *emptyingWalk) wait(e *emptying) {
	due, waits := e.plan.Wake(e.now)
	if removal := e.plan.Removal(); removal != nil {
		due, waits = removal.Wake()
	}
	if !waits {
		if removal := e.plan.Removal(); removal == nil || removal.In(deletion.Accepted)+removal.Busy() == 0 {
			k.t.Fatalf("nothing is under way, nothing is awaited, and it is not over: %s", e.key())
		}
		return
	}
	if next := e.clone(nil); due.After(next.now) {
		next.now = due
		k.explore(next)
	} else if removal := e.plan.Removal(); removal.In(deletion.Accepted)+removal.Busy() == 0 {
		k.t.Fatalf("something is due, and is not sent: %s", e.key())
	}
}

func (k *emptyingWalk) finished(e *emptying, end State) {
	k.ends[end]++
	want := Succeeded
	left := 0
	if e.plan.removal != nil {
		left = len(e.plan.removal.Resources)
		if e.plan.removal.In(deletion.Accepted) > 0 {
			k.t.Fatalf("it ends as %v while a provider deletes: %s", end, e.key())
		}
		if !e.canceled && e.plan.removal.Busy() > 0 {
			k.t.Fatalf("it ends as %v while the write of a resource runs that was refused for it: %s", end, e.key())
		}
	}
	switch {
	case e.canceled:
		want = Canceled
	case e.plan.Steps[0].State != Succeeded || left > 0:
		want = Failed
	case e.plan.removal == nil:
		k.t.Fatalf("it ends before anything was deleted")
	}
	if end != want || len(e.calls) > 0 {
		k.t.Fatalf("it ends as %v, and not %v: %s", end, want, e.key())
	}
	if done, of := e.plan.Counts(); !e.canceled && done != of {
		k.t.Fatalf("it ends, and %d of %d are done", done, of)
	}
}

// Complete mode: each outcome of the step and of both deletions, also while a write of their
// resource runs, canceled and killed at any point. Nothing is deleted before the step has succeeded, or after a cancellation.
func TestRemovalWalk(t *testing.T) {
	t.Parallel()
	k := &emptyingWalk{t: t, seen: map[string]bool{}, ends: map[State]int{}}
	p := New([]PlannedStep{{}}, bounds)
	p.Complete = true
	k.explore(&emptying{plan: p, now: start, calls: map[string]bool{}, written: map[string]bool{}})
	for _, end := range []State{Succeeded, Failed, Canceled} {
		if k.ends[end] == 0 {
			t.Errorf("no way leads to %v", end)
		}
	}
	t.Logf("%d states", len(k.seen))
}
