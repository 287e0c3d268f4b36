// Package deployplan decides what a deployment does next: which of its steps to send, probe and
// follow, and how the deployment ends. It is pure.
//
// A step is sent once all steps that it depends on have succeeded, within the limits. A failed
// step ends the steps that depend on it, and no others. If a step gets no answer, its resource
// is probed; it is sent again only once the first call cannot take effect any more. A nested
// deployment is a step that holds others: it begins before them, and ends after them. In
// complete mode, resources that are not in the template are deleted once every step has
// succeeded.
package deployplan

import (
	"time"

	deletion "portico/jobs/deletion/deletionplan"
)

// State is the state of a step. The numbers are stored.
type State uint8

// The states of a step. From Succeeded on they are ends.
const (
	Waiting   State = iota // for others, for its time, or for room
	Sent                   // it may have been sent, and there is no answer yet
	Accepted               // its provider works on it; of a nested deployment: its steps run
	Succeeded              // also a step that its condition left out
	Failed
	Ended    // without being sent, as a step that it depends on did not succeed
	Canceled // before it was sent
)

var states = [...]string{"Waiting", "Sent", "Accepted", "Succeeded", "Failed", "Ended", "Canceled"}

func (s State) String() string { return states[s] }

// Over reports whether the state is an end.
func (s State) Over() bool { return s >= Succeeded }

// Act is an action on a step.
type Act uint8

// The acts.
const (
	Send   Act = iota // record it as sent, then send it; begin a nested deployment
	Probe             // find out whether it has taken effect
	Follow            // poll its provider; end a nested deployment
)

// Order is an action to do now. The caller reports its outcome with [Graph.Settle].
type Order struct {
	Step int
	Act  Act
}

// Outcome is the outcome of an order.
type Outcome uint8

// The outcomes.
const (
	Done      Outcome = iota // it has succeeded; a nested deployment ends as its steps have
	Refused                  // it has failed for good
	GoesOn                   // it has taken effect, and its provider works on it
	Lost                     // there is no answer: it may have taken effect, or still do so
	Absent                   // it has not taken effect, and cannot any more
	Transient                // tried again, within the budget
	Throttled                // tried again, however often: the caller has made too many calls, or the region is drained
)

// Limits bound the steps that run in parallel, and the retries after transient failures.
type Limits struct {
	PerDeployment int
	PerEndpoint   int
	Budget        time.Duration // from a step's first transient failure in a row
	Pause         time.Duration // between two tries, at least
}

// PlannedStep is a step of a deployment.
type PlannedStep struct {
	DependsOn []int  // numbers of earlier and later steps
	Endpoint  string // that it is sent to; empty: no limit per endpoint applies
	// Nested: it is a nested deployment. Only the steps that it Holds count against limits.
	Nested  bool
	Holds   []int // the steps in it, which depend only on each other
	State   State
	Due     time.Time // nothing is done with it before
	Trouble time.Time // of the first in its present series of transient failures; zero: none

	busy   bool // an order of it is under way
	within *int // the nested deployment that holds it
}

// Graph has the steps of a deployment under way. It is not safe for concurrent use.
type Graph struct {
	Steps    []PlannedStep
	Canceled bool // nothing further is sent
	Complete bool // resources that are not in the template are deleted in the end
	limits   Limits
	removal  *deletion.Queue
}

// New returns a graph of steps in the states that they have. Their dependencies have no cycle.
func New(steps []PlannedStep, limits Limits) *Graph {
	p := &Graph{Steps: steps, limits: limits}
	p.linkNested()
	p.endUnreachable()
	return p
}

// linkNested records in each step the nested deployment that holds it.
func (p *Graph) linkNested() {
	for i := range p.Steps {
		for _, held := range p.Steps[i].Holds {
			p.Steps[held].within = &i
		}
	}
}

// Grow adds the steps of a nested deployment that is about to begin, if they were unknown
// before. Their numbers follow all others.
func (p *Graph) Grow(nested int, steps []PlannedStep, holds []int) {
	p.Steps = append(p.Steps, steps...)
	if p.Canceled {
		p.Cancel()
	}
	p.Steps[nested].Holds = holds
	p.linkNested()
}

// NestedEnd reports whether all steps in a nested deployment have ended, and whether they
// Succeeded, Failed or were Canceled.
func (p *Graph) NestedEnd(nested int) (end State, over bool) {
	end = Succeeded
	for _, held := range p.Steps[nested].Holds {
		switch s := &p.Steps[held]; {
		case !s.State.Over() || s.busy:
			return Waiting, false
		case s.State == Failed:
			end = Failed
		case s.State == Canceled && end == Succeeded:
			end = Canceled
		}
	}
	return end, true
}

// Cancel stops sending. Steps that run are followed to their ends.
func (p *Graph) Cancel() {
	p.Canceled = true
	if p.removal != nil {
		p.removal.Stop()
	}
	for i := range p.Steps {
		if s := &p.Steps[i]; s.State == Waiting && !s.busy {
			s.State = Canceled
		}
	}
}

// Next returns the orders to execute now, in the order of the steps.
func (p *Graph) Next(now time.Time) (orders []Order) {
	running, at := p.running()
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.busy || s.State.Over() || s.Due.After(now) || p.blocked(i) {
			continue
		}
		act := Follow
		switch s.State {
		case Waiting:
			if !s.Nested {
				if running >= p.limits.PerDeployment || s.Endpoint != "" && at[s.Endpoint] >= p.limits.PerEndpoint {
					continue
				}
				running++
				at[s.Endpoint]++
			}
			act = Send
		case Sent:
			act = Probe
		}
		s.busy = true
		orders = append(orders, Order{i, act})
	}
	return orders
}

// running counts the steps that run: in all, and at each endpoint.
func (p *Graph) running() (n int, at map[string]int) {
	at = map[string]int{}
	for i := range p.Steps {
		if s := &p.Steps[i]; !s.Nested && !s.State.Over() && (s.busy || s.State != Waiting) {
			n++
			at[s.Endpoint]++
		}
	}
	return n, at
}

// blocked reports whether a step waits for others: for the steps that it holds, or to be sent.
func (p *Graph) blocked(i int) bool {
	s := &p.Steps[i]
	if s.Nested && s.State == Accepted {
		_, over := p.NestedEnd(i)
		return !over
	}
	return s.State == Waiting && !p.ready(s)
}

// ready reports whether all steps that a step depends on have succeeded, and the nested deployment
// that holds it has begun.
func (p *Graph) ready(s *PlannedStep) bool {
	if s.within != nil && p.Steps[*s.within].State != Accepted {
		return false
	}
	for _, on := range s.DependsOn {
		if p.Steps[on].State != Succeeded {
			return false
		}
	}
	return true
}

// Settle applies the outcome of an order. after is the pause that the answer asked for. It returns
// the numbers of further steps that ended because of it.
func (p *Graph) Settle(o Order, outcome Outcome, after time.Duration, now time.Time) (ended []int) {
	s := &p.Steps[o.Step]
	s.busy = false
	s.Due = now.Add(max(after, p.limits.Pause))
	switch outcome {
	case Done, Refused, GoesOn:
		if s.Nested { // it is due once its steps have ended
			s.Due = now
		}
		s.State, s.Trouble = landed[outcome], time.Time{}
		if s.Nested && o.Act == Follow && outcome == Done {
			s.State, _ = p.NestedEnd(o.Step)
		}
	case Lost:
		s.State = Sent
		p.countTransient(s, now)
	case Absent:
		if s.State = Waiting; p.countTransient(s, now) {
			s.State = Failed
		}
	case Transient:
		if p.countTransient(s, now) {
			s.State = Failed
		}
	case Throttled:
	}
	if s.State == Waiting && p.Canceled {
		s.State = Canceled
	}
	return p.endUnreachable()
}

var landed = map[Outcome]State{Done: Succeeded, Refused: Failed, GoesOn: Accepted}

// countTransient counts a transient failure, and reports whether the budget is spent.
func (p *Graph) countTransient(s *PlannedStep, now time.Time) (spent bool) {
	if s.Trouble.IsZero() {
		s.Trouble = now
	}
	return now.Sub(s.Trouble) >= p.limits.Budget
}

// Expire ends a deployment that has taken too long: steps that run fail, the rest is not sent. If
// no step runs, because no gateway did, the waiting steps fail. It returns the steps that failed.
func (p *Graph) Expire() (failed []int) {
	var waiting []int
	for i := range p.Steps {
		switch s := &p.Steps[i]; {
		case s.State.Over():
		case s.busy || s.State != Waiting:
			s.State, s.busy = Failed, false
			failed = append(failed, i)
		default:
			s.State = Ended
			waiting = append(waiting, i)
		}
	}
	if len(failed) > 0 {
		return failed
	}
	for _, i := range waiting {
		p.Steps[i].State = Failed
	}
	return waiting
}

// endUnreachable ends steps that can never be sent: they depend on steps that did not succeed, or are in
// nested deployments that have ended.
func (p *Graph) endUnreachable() (ended []int) {
	for more := true; more; {
		more = false
		for i := range p.Steps {
			s := &p.Steps[i]
			if s.State != Waiting || s.busy || !p.hopeless(s) {
				continue
			}
			if s.State, more = Ended, true; p.leftOut(s) {
				s.State = Succeeded
			}
			ended = append(ended, i)
		}
	}
	return ended
}

// leftOut reports whether a step is in a nested deployment that was left out.
func (p *Graph) leftOut(s *PlannedStep) bool {
	return s.within != nil && p.Steps[*s.within].State == Succeeded
}

func (p *Graph) hopeless(s *PlannedStep) bool {
	if s.within != nil && p.Steps[*s.within].State.Over() {
		return true
	}
	for _, on := range s.DependsOn {
		if state := p.Steps[on].State; state.Over() && state != Succeeded {
			return true
		}
	}
	return false
}

// Wake returns the next time at which a step is due; waits is false if none waits for its time.
func (p *Graph) Wake(now time.Time) (first time.Time, waits bool) {
	for i := range p.Steps {
		s := &p.Steps[i]
		if !s.Due.After(now) || s.busy || s.State.Over() || p.blocked(i) { // the cheapest first: hardly any step has a time
			continue
		}
		if !waits || s.Due.Before(first) {
			first, waits = s.Due, true
		}
	}
	return first, waits
}

// Over reports whether nothing is left to do, and whether the deployment Succeeded, Failed or was
// Canceled.
func (p *Graph) Over() (end State, over bool) {
	switch end, over = p.stepsOver(); {
	case over && p.removal != nil:
		return p.removalOver()
	case over && p.Removes():
		return Waiting, false
	}
	return end, over
}

func (p *Graph) stepsOver() (end State, over bool) {
	end = Succeeded
	for i := range p.Steps {
		switch s := &p.Steps[i]; {
		case !s.State.Over() || s.busy:
			return Waiting, false
		case s.State == Failed && end == Succeeded:
			end = Failed
		}
	}
	if p.Canceled {
		end = Canceled
	}
	return end, true
}

// Counts returns the number of steps and deletions that have ended, and the number of all.
func (p *Graph) Counts() (done, of int) {
	of = len(p.Steps)
	if p.removal != nil {
		progress := p.removal.Counted()
		done, of = progress.Deleted+progress.Parked, of+progress.Total
	}
	for i := range p.Steps {
		if p.Steps[i].State.Over() {
			done++
		}
	}
	return done, of
}
