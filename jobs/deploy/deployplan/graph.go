// Package deployplan decides, as a pure value, what a deployment does next: which of its steps
// are sent, asked for and followed, and how it ends.
//
// Nothing is sent before all it depends on has succeeded, and all that can be sent is,
// within the bounds. A failed step ends those that depend on it, and nothing else. A
// step without an answer is asked for, and sent again only once it cannot land any
// more. A nested deployment is a step that holds others: it is begun before them, and
// ends after them. In complete mode, what the template lacks is deleted once each step
// has succeeded, and not before.
package deployplan

import (
	"time"

	deletion "portico/jobs/deletion/deletionplan"
)

// State is how far a step is. The numbers are stored.
type State uint8

// The states of a step. From Succeeded on they are ends.
const (
	Waiting   State = iota // for others, for its time, or for room
	Sent                   // it may have left, and its answer is not known
	Accepted               // its provider goes on with it; of a nested deployment: its steps run
	Succeeded              // also a step that was left out by its condition
	Failed
	Ended    // by the failure, or the end, of one that it depends on
	Canceled // before it was sent
)

var states = [...]string{"Waiting", "Sent", "Accepted", "Succeeded", "Failed", "Ended", "Canceled"}

func (s State) String() string { return states[s] }

// Over reports whether the state is an end.
func (s State) Over() bool { return s >= Succeeded }

// Act is what is to be done with a step.
type Act uint8

// The acts.
const (
	Send   Act = iota // and record before that it may leave; begin a nested deployment
	Ask               // whether it has landed
	Follow            // whether its provider is done; end a nested deployment
)

// Order is something to do now. The caller reports its outcome with [Plan.Settle].
type Order struct {
	Step int
	Act  Act
}

// Outcome is what became of an order.
type Outcome uint8

// The outcomes.
const (
	Done      Outcome = iota // it has succeeded; a nested deployment ends as its steps have
	Refused                  // it has failed for good
	GoesOn                   // it has landed, and its provider goes on with it
	Lost                     // it may have landed, or still land: no answer says so
	Absent                   // it has not landed, and cannot land any more
	Transient                // tried again, within the budget
	Throttled                // tried again, however often: the caller has made too many calls
)

// Limits bound what runs side by side, and for how long transient failures are tried again.
type Limits struct {
	PerDeployment int
	PerEndpoint   int
	Budget        time.Duration // from a step's first transient failure in a row
	Pause         time.Duration // between two tries, at least
}

// Step is a step of a deployment.
type PlannedStep struct {
	DependsOn []int  // numbers of earlier and later steps
	Endpoint  string // to which it is sent; empty: it is not bounded by one
	// Nested: it is a nested deployment. It takes no room besides that of the steps it
	// Holds.
	Nested  bool
	Holds   []int // the steps in it, which depend on each other alone
	State   State
	Due     time.Time // nothing is done with it before
	Trouble time.Time // since when its failures are transient ones; zero: they are not

	busy   bool // an order of it is under way
	within *int // the nested deployment that holds it
}

// Plan is a deployment under way. It is not safe for concurrent use.
type Graph struct {
	Steps    []PlannedStep
	Canceled bool // nothing further is sent
	Complete bool // what the template lacks is deleted in the end
	limits   Limits
	removal  *deletion.Queue
}

// New returns the plan of a deployment whose steps are as far as their states say. They
// depend on each other without a cycle.
func New(steps []PlannedStep, limits Limits) *Graph {
	p := &Graph{Steps: steps, limits: limits}
	p.enclose()
	p.spread()
	return p
}

// enclose records in each step the nested deployment that holds it.
func (p *Graph) enclose() {
	for i := range p.Steps {
		for _, held := range p.Steps[i].Holds {
			p.Steps[held].within = &i
		}
	}
}

// Grow adds the steps of a nested deployment that is about to begin, since they were
// unknown before. Their numbers follow those of all others.
func (p *Graph) Grow(nested int, steps []PlannedStep, holds []int) {
	p.Steps = append(p.Steps, steps...)
	if p.Canceled {
		p.Cancel()
	}
	p.Steps[nested].Holds = holds
	p.enclose()
}

// HeldEnd reports whether all that a nested deployment holds has ended, and how: Succeeded,
// Failed or Canceled.
func (p *Graph) HeldEnd(nested int) (end State, over bool) {
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

// Cancel stops sending. What runs is followed to its end.
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

// Next returns what to do now, in the order of the steps.
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
			act = Ask
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

// blocked reports whether a step waits for others: for those that it holds, or to be sent.
func (p *Graph) blocked(i int) bool {
	s := &p.Steps[i]
	if s.Nested && s.State == Accepted {
		_, over := p.HeldEnd(i)
		return !over
	}
	return s.State == Waiting && !p.free(s)
}

// free reports whether all that a step depends on has succeeded, and what holds it has begun.
func (p *Graph) free(s *PlannedStep) bool {
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

// Settle takes the outcome of an order. Of what is to be done again, after is the pause that
// was asked for. It returns the steps that ended with this one, by their numbers.
func (p *Graph) Settle(o Order, outcome Outcome, after time.Duration, now time.Time) (ended []int) {
	s := &p.Steps[o.Step]
	s.busy = false
	s.Due = now.Add(max(after, p.limits.Pause))
	switch outcome {
	case Done, Refused, GoesOn:
		if s.Nested { // nothing is asked of it before its steps have ended
			s.Due = now
		}
		s.State, s.Trouble = landed[outcome], time.Time{}
		if s.Nested && o.Act == Follow && outcome == Done {
			s.State, _ = p.HeldEnd(o.Step)
		}
	case Lost:
		s.State = Sent
		p.trouble(s, now)
	case Absent:
		if s.State = Waiting; p.trouble(s, now) {
			s.State = Failed
		}
	case Transient:
		if p.trouble(s, now) {
			s.State = Failed
		}
	case Throttled:
	}
	if s.State == Waiting && p.Canceled {
		s.State = Canceled
	}
	return p.spread()
}

var landed = map[Outcome]State{Done: Succeeded, Refused: Failed, GoesOn: Accepted}

// trouble notes a failure that may pass, and reports whether the budget is spent.
func (p *Graph) trouble(s *PlannedStep, now time.Time) (spent bool) {
	if s.Trouble.IsZero() {
		s.Trouble = now
	}
	return now.Sub(s.Trouble) >= p.limits.Budget
}

// Expire ends a deployment that has taken too long: what runs has failed, the rest is not
// sent. Where nothing runs, since no gateway did, what waits has failed. It returns the steps
// that have failed.
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

// spread ends what depends on steps that have not succeeded and never will, and what is in
// nested deployments that have ended before it.
func (p *Graph) spread() (ended []int) {
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

// Wake is when there is something to do again without an outcome; false: there is not.
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

// Over reports whether nothing is left to do, and how the deployment has ended: Succeeded,
// Failed or Canceled.
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

// Counts returns how many steps and deletions have ended, of how many.
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
