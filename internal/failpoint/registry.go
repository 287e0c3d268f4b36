package failpoint

import (
	"math/rand/v2"
	"sync"
	"time"
)

// Registry holds the rules, and counts the hits of each point. It is safe for
// concurrent use.
type Registry struct {
	end func(Action) // ends the process

	mu     sync.Mutex
	points map[Point]*state
	closed bool
}

// state is the state of one point.
type state struct {
	rule        *Rule
	seen        int // hits under the current rule
	hits, fired int
	paused      int
	release     chan struct{} // closed to end pauses
}

// State is a point's state for the control listener.
type State struct {
	Name   Point  `json:"name"`
	Says   string `json:"says"`
	Rule   string `json:"rule,omitempty"`
	Hits   int    `json:"hits"`   // how often it was reached
	Fired  int    `json:"fired"`  // how often a rule was applied
	Paused int    `json:"paused"` // paused goroutines
}

// NewRegistry returns a registry without rules. end ends the process with the
// action [Exit] or [Kill].
func NewRegistry(end func(Action)) *Registry {
	r := &Registry{end: end, points: map[Point]*state{}}
	for _, d := range All() {
		r.points[d.Point] = &state{release: make(chan struct{})}
	}
	return r
}

// Set replaces the rule of a point.
func (r *Registry) Set(p Point, rule Rule) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.points[p]
	s.rule, s.seen = &rule, 0
}

// Clear removes a point's rule and ends the pauses there.
func (r *Registry) Clear(p Point) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.points[p]
	s.rule = nil
	s.releasePaused()
}

// Release ends the pauses at a point.
func (r *Registry) Release(p Point) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.points[p].releasePaused()
}

// Close clears all points permanently.
func (r *Registry) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for _, s := range r.points {
		s.releasePaused()
	}
}

func (s *state) releasePaused() {
	close(s.release)
	s.release = make(chan struct{})
}

// Hit applies the point's rule.
func (r *Registry) Hit(p Point) error {
	rule, release := r.countHit(p)
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

// countHit counts a hit of a point, and returns the rule to apply now: the
// zero Rule if nothing is to be done.
func (r *Registry) countHit(p Point) (Rule, <-chan struct{}) {
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

// States returns the states of all points, in the order of [All].
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
