package health

import (
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"
)

// Address is the health of one address in one region. It is safe for concurrent use.
type Address struct {
	Region string
	Name   string // such as https://host:port

	registry    *Registry
	outstanding atomic.Int64

	mu            sync.Mutex
	circuit       circuit
	probes        probes
	ejection      ejection
	window        window
	slowCheckedAt time.Duration
	returnedAt    time.Duration
	ramping       bool   // in slow start, with a reduced part of the calls
	trials        uint64 // trials started so far
	counts        Counts
	last          transition
	pending       []Change // for notify once mu is unlocked
}

// transition is the latest change between healthy and unhealthy.
type transition struct {
	up     bool
	at     time.Duration
	reason string
}

// probes holds the results of an address's probes.
type probes struct {
	enabled             bool
	successes, failures int // in a row
	failing             bool
	unreachable         bool // the last probe could not connect
}

type ejection struct {
	since, until time.Duration
	times        int // in short succession
	on, slow     bool
}

// Counts holds totals since the address became known.
type Counts struct {
	Ejections       map[string]uint64       // by reason: ReasonErrors, ReasonSlow
	CircuitOpenings uint64                  // circuits
	Probes          map[ProbeOutcome]uint64 // by outcome
}

// The reasons of ejections.
const (
	ReasonErrors = "errors"
	ReasonSlow   = "slow"
)

// ProbeOutcome is the result of a probe.
type ProbeOutcome uint8

// The outcomes of probes.
const (
	ProbeSucceeded   ProbeOutcome = iota
	ProbeFailed                   // it connected and got no good answer
	ProbeUnreachable              // it could not connect
)

func (p ProbeOutcome) String() string {
	switch p {
	case ProbeFailed:
		return "unwell"
	case ProbeUnreachable:
		return "unreachable"
	case ProbeSucceeded:
	}
	return "good"
}

// Change is a transition in an address's health.
type Change struct {
	Address *Address
	Up      bool // it is healthy
	Circuit Circuit
	Reason  string
	// Trial marks transitions between trials of a circuit that does not close.
	// They are frequent while nothing connects.
	Trial bool
}

// State is a snapshot of an address's health.
type State struct {
	Up          bool // healthy; unhealthy addresses are called only if none is
	Circuit     Circuit
	Failing     bool // its probes fail
	Ejected     bool
	Slow        bool  // ejected for being slow
	Outstanding int64 // calls in flight
	Counts      Counts
	// Reason is the reason for the latest change of the health, at Since;
	// empty: it never changed.
	Reason string
	Since  time.Duration
}

// State advances the address to now and returns a snapshot.
func (a *Address) State(now time.Duration) State {
	a.Advance(now)
	a.mu.Lock()
	defer a.mu.Unlock()
	s := State{
		Up: a.healthy(), Circuit: a.circuit.state, Failing: a.probes.failing, Ejected: a.ejection.on, Slow: a.ejection.on && a.ejection.slow,
		Outstanding: a.outstanding.Load(), Reason: a.last.reason, Since: a.last.at,
		Counts: Counts{CircuitOpenings: a.counts.CircuitOpenings, Ejections: map[string]uint64{}, Probes: map[ProbeOutcome]uint64{}},
	}
	maps.Copy(s.Counts.Ejections, a.counts.Ejections)
	maps.Copy(s.Counts.Probes, a.counts.Probes)
	return s
}

// SetProbed sets whether the address is probed. A probed address with an open
// circuit is [Down] only if the last probe failed to connect too.
func (a *Address) SetProbed(probed bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.probes = probes{enabled: probed, failing: probed && a.probes.failing, unreachable: probed && a.probes.unreachable}
	a.registry.invalidate()
}

// NeedsProbe reports whether the address should be probed soon because something is
// wrong.
func (a *Address) NeedsProbe() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.circuit.state != Closed || a.probes.failing || a.probes.failures > 0
}

// RecordProbe records the result of a probe; detail is for the log.
func (a *Address) RecordProbe(now time.Duration, outcome ProbeOutcome, detail string) {
	settings := a.registry.settings.Load()
	a.mu.Lock()
	defer a.unlockAndNotify()
	a.counts.Probes[outcome]++
	if unreachable := outcome == ProbeUnreachable; unreachable != a.probes.unreachable {
		a.probes.unreachable = unreachable
		a.registry.invalidate()
	}
	if outcome == ProbeUnreachable {
		a.connectFailed(settings, now, detail)
	} else if a.circuit.probed() {
		a.circuitChanged(now, "a probe connected")
	}
	p := &a.probes
	if outcome == ProbeSucceeded {
		p.successes, p.failures = p.successes+1, 0
		if p.failing && p.successes >= settings.Healthy {
			p.failing = false
			a.startSlowStart(now)
			a.queueChange(now, fmt.Sprintf("%d probes succeeded", p.successes))
		}
		return
	}
	p.successes, p.failures = 0, p.failures+1
	if !p.failing && settings.Unhealthy > 0 && p.failures >= settings.Unhealthy {
		p.failing = true
		a.queueChange(now, fmt.Sprintf("%d probes failed: %s", p.failures, detail))
	}
}

// Advance applies the passage of time: circuits become half-open, ejections end.
func (a *Address) Advance(now time.Duration) {
	a.mu.Lock()
	defer a.unlockAndNotify()
	if a.circuit.advance(now) {
		a.queueChange(now, "it is time for a trial")
	}
	if a.ejection.on && now >= a.ejection.until {
		a.ejection.on = false
		a.startSlowStart(now)
		a.queueChange(now, "the time of its ejection is over")
	}
	if a.ramping && now-a.returnedAt >= a.registry.settings.Load().SlowStart {
		a.ramping = false
		a.registry.invalidate()
	}
}

// recordConnection records a new connection made for a call.
func (a *Address) recordConnection(now time.Duration) {
	a.mu.Lock()
	defer a.unlockAndNotify()
	if a.circuit.connected() {
		a.circuitChanged(now, "a call connected")
	}
}

// recordUnreachable records a call that could not connect.
func (a *Address) recordUnreachable(now time.Duration, detail string) {
	a.mu.Lock()
	defer a.unlockAndNotify()
	a.connectFailed(a.registry.settings.Load(), now, detail)
}

func (a *Address) connectFailed(s *Settings, now time.Duration, detail string) {
	if !a.circuit.unreachable(s, now) {
		return
	}
	a.counts.CircuitOpenings++
	if a.circuit.openings == 1 {
		a.queueChange(now, fmt.Sprintf("%d connections in a row could not be made: %s", a.circuit.failures, detail))
	} else {
		a.queueChange(now, "the trial failed: "+detail)
	}
}

// circuitChanged handles a circuit that a connection has half-opened or closed.
func (a *Address) circuitChanged(now time.Duration, reason string) {
	if a.circuit.state == Closed {
		a.startSlowStart(now)
	}
	a.queueChange(now, reason)
}

// recordCall records the result of a call that had a connection, and reports
// whether the address returns too many errors.
func (a *Address) recordCall(now, took time.Duration, bad, answered bool) (tooManyErrors bool) {
	s := a.registry.settings.Load()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.window.rotate(s.Window, now)
	h := &a.window.now
	h.calls++
	if answered {
		h.answers++
		h.took += took
	}
	if !bad {
		return false
	}
	h.errors++
	return s.ErrorRatio > 0 && a.window.calls() >= max(1, s.Calls) && a.window.errorRatio() >= s.ErrorRatio
}

// dueForSlowCheck reports, at most four times per window, that the latency of
// the address should be compared.
func (a *Address) dueForSlowCheck(now time.Duration) bool {
	s := a.registry.settings.Load()
	a.mu.Lock()
	defer a.mu.Unlock()
	if now-a.slowCheckedAt < s.Window/4 {
		return false
	}
	a.slowCheckedAt = now
	return true
}

// meanLatency returns the mean time to an answer in the window.
func (a *Address) meanLatency(now time.Duration) (time.Duration, bool) {
	s := a.registry.settings.Load()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.window.rotate(s.Window, now)
	return a.window.mean(s.Calls)
}

// eject takes the address out of use for a while.
func (a *Address) eject(now time.Duration, reason, detail string) {
	s := a.registry.settings.Load()
	a.mu.Lock()
	defer a.unlockAndNotify()
	e := &a.ejection
	if e.on {
		return
	}
	if s.Eject > 0 { // after each Eject of use, one earlier ejection is forgotten
		e.times = max(0, e.times-int((now-e.until)/s.Eject))
	}
	e.times++
	e.on, e.slow = true, reason == ReasonSlow
	e.since, e.until = now, now+backoff(s.Eject, s.MaxEject, e.times)
	a.window = window{began: now} // only later calls count
	a.counts.Ejections[reason]++
	a.queueChange(now, detail)
}

func (a *Address) startSlowStart(now time.Duration) {
	a.returnedAt, a.ramping = now, a.registry.settings.Load().SlowStart > 0
}

// healthy reports whether circuit, probes and ejection all permit calls.
func (a *Address) healthy() bool {
	return a.circuit.state == Closed && !a.probes.failing && !a.ejection.on
}

// queueChange queues a change for unlockAndNotify.
func (a *Address) queueChange(now time.Duration, reason string) {
	if up := a.healthy(); up != a.last.up {
		a.last = transition{up, now, reason}
	}
	trial := a.circuit.state == HalfOpen || a.circuit.state == Open && a.circuit.openings > 1
	a.pending = append(a.pending, Change{a, a.healthy(), a.circuit.state, reason, trial})
}

// unlockAndNotify unlocks mu and delivers the queued changes.
func (a *Address) unlockAndNotify() {
	changes := a.pending
	a.pending = nil
	a.mu.Unlock()
	if len(changes) == 0 {
		return
	}
	a.registry.invalidate()
	if a.registry.notify != nil {
		for _, c := range changes {
			a.registry.notify(c)
		}
	}
}
