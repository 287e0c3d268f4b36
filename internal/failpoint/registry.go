package failpoint

import (
	"math/rand/v2"
	"sync"
	"time"
)

// Registry holds the rules, and counts how often each point is reached. It may be
// used from any goroutine.
type Registry struct {
	end func(Action) // ends the process

	mu     sync.Mutex
	points map[Point]*state
	closed bool
}

// state is what is known of one point.
type state struct {
	rule        *Rule
	seen        int // how often it was reached under the rule
	hits, fired int
	paused      int
	release     chan struct{} // closed to let go on what is paused
}

// State is what the control listener shows of a point.
type State struct {
	Name   Point  `json:"name"`
	Says   string `json:"says"`
	Rule   string `json:"rule,omitempty"`
	Hits   int    `json:"hits"`   // how often it was reached
	Fired  int    `json:"fired"`  // how often a rule did something there
	Paused int    `json:"paused"` // goroutines that are
}

// NewRegistry returns a registry without rules. end ends the process as the action
// says, [Exit] or [Kill].
func NewRegistry(end func(Action)) *Registry {
	r := &Registry{end: end, points: map[Point]*state{}}
	for _, d := range All() {
		r.points[d.Point] = &state{release: make(chan struct{})}
	}
	return r
}

// Set gives a point a rule, in the place of the one that it has.
func (r *Registry) Set(p Point, rule Rule) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.points[p]
	s.rule, s.seen = &rule, 0
}

// Clear takes a point's rule back and lets go on what is paused there.
func (r *Registry) Clear(p Point) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.points[p]
	s.rule = nil
	s.letGo()
}

// Release lets go on what is paused at a point.
func (r *Registry) Release(p Point) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.points[p].letGo()
}

// Close clears all points for good.
func (r *Registry) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for _, s := range r.points {
		s.letGo()
	}
}

func (s *state) letGo() {
	close(s.release)
	s.release = make(chan struct{})
}

// Hit does what the point's rule says.
func (r *Registry) Hit(p Point) error {
	rule, release := r.meet(p)
	switch rule.Action {
	case Fail:
		return &Failure{p}
	case Exit, Kill:
		r.end(rule.Action)
	case Pause:
		timer := time.NewTimer(rule.Bound)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-release:
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.points[p].paused--
	}
	return nil
}

// meet counts that a point was reached, and returns the rule that applies now: the
// zero Rule where nothing is to be done.
func (r *Registry) meet(p Point) (Rule, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.points[p]
	s.hits++
	if s.rule == nil || r.closed {
		return Rule{}, nil
	}
	rule := *s.rule
	s.seen++
	if s.seen <= rule.After || rule.Probability > 0 && rand.Float64() >= rule.Probability { //nolint:gosec // chance needs no secrecy
		return Rule{}, nil
	}
	s.fired++
	if rule.Once {
		s.rule = nil
	}
	if rule.Action == Pause {
		s.paused++
	}
	return rule, s.release
}

// States shows all points, in the order of [All].
func (r *Registry) States() []State {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []State
	for _, d := range All() {
		s := r.points[d.Point]
		shown := State{Name: d.Point, Says: d.Says, Hits: s.hits, Fired: s.fired, Paused: s.paused}
		if s.rule != nil {
			shown.Rule = s.rule.String()
		}
		all = append(all, shown)
	}
	return all
}
