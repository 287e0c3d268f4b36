package deletionplan

import (
	"slices"
	"time"

	"portico/internal/timing"
	"portico/inventory"
	"portico/upstream/answers"
)

// Outcome is the outcome of a resource's DELETE.
type Outcome uint8

// The outcomes.
const (
	OutcomeGone        Outcome = iota
	OutcomeAccepted            // the provider works on it
	OutcomeRefused             // in the present state
	OutcomeTransient           // not now; counts against the budget
	OutcomeUnreachable         // its region does not answer
	OutcomeUnsent              // no call was made
	OutcomeUnproven            // another job finds out whether it still exists
)

var outcomes = [...]string{"gone", "accepted", "refused", "transient", "silent", "unsent", "unproven"}

func (o Outcome) String() string { return outcomes[o] }

// ByMeaning maps the verdict on the answer to a DELETE to its outcome.
var ByMeaning = [...]Outcome{
	answers.Done: OutcomeGone, answers.Absent: OutcomeGone, answers.Accepted: OutcomeAccepted, answers.Refused: OutcomeRefused,
	answers.Later: OutcomeTransient, answers.Unreachable: OutcomeUnreachable,
}

// Result is the result of a resource's call.
type Result struct {
	Outcome Outcome
	After   time.Duration // the pause that the answer asked for
	Why     string        // of a failure, as a sentence
	// Blockers are the keys of resources that a refusal names. Named: it names any resource of
	// the group at all.
	Blockers []string
	Named    bool
	// Busy names a write of its own that was under way at some time during the call.
	Busy string
}

// OnResult applies the result of a resource's call.
func (p *Queue) OnResult(key string, s Result, now time.Time) {
	m := p.Resources[key]
	if m == nil || m.State != InFlight {
		return
	}
	if s.Busy != "" {
		p.setBusy(m, s.Busy)
	}
	if s.Outcome == OutcomeRefused && s.After > 0 && !s.Named {
		s.Outcome = OutcomeTransient // it is sent again, and waits for nothing else
	}
	if s.Outcome == OutcomeGone || s.Outcome == OutcomeAccepted || s.Outcome == OutcomeRefused && s.blind(m) {
		p.tally.addCall(m.Type, m.typesAtSend, s.Outcome != OutcomeRefused)
	}
	m.refused = s.Outcome == OutcomeRefused
	switch s.Outcome {
	case OutcomeGone:
		p.remove(m)
	case OutcomeAccepted:
		p.awaitOutcome(m)
	case OutcomeUnproven:
		p.AwaitProof(m)
	case OutcomeRefused:
		p.park(m, s)
	case OutcomeTransient:
		p.retry(m, s, now)
	case OutcomeUnreachable, OutcomeUnsent:
		m.fail(s.Why, now)
		m.Due = now.Add(p.pauseOf(m, s.After))
		p.setState(m, Waiting, s.Outcome == OutcomeUnreachable)
	}
}

// fail counts a failure.
func (m *Resource) fail(why string, now time.Time) {
	if m.Tries == 0 {
		m.Failing = now
	}
	m.Tries, m.Why = m.Tries+1, why
}

// blind reports whether a refusal gives no reason that is known, so that it may show that
// another type goes first.
func (s Result) blind(m *Resource) bool { return !s.Named && m.Busy == "" && !m.Again }

// retry schedules another try of a resource, as long as its budget lasts.
func (p *Queue) retry(m *Resource, s Result, now time.Time) {
	if m.Since.IsZero() {
		m.Since = now
	}
	m.fail(s.Why, now)
	m.Due = now.Add(p.pauseOf(m, s.After))
	if m.Due.Before(m.Since.Add(p.limits.Budget)) {
		p.setState(m, Waiting, false)
		return
	}
	p.setAside(m, nil) // its budget stays spent: each further pass tries it once
}

func (p *Queue) pauseOf(m *Resource, retryAfter time.Duration) time.Duration {
	return max(retryAfter, timing.Backoff(p.limits.Pause, max(p.limits.Longest, p.limits.Pause), m.Tries))
}

// park sets a refused resource aside until its blockers have gone.
func (p *Queue) park(m *Resource, s Result) {
	m.Since, m.Tries = time.Time{}, 0
	var blockers []string
	for _, key := range s.Blockers {
		if b := p.Resources[key]; b != nil && b != m && !slices.Contains(blockers, key) {
			blockers = append(blockers, key)
			p.learn(inventory.TypeOrder{Before: b.Type, After: m.Type})
		}
	}
	m.Blind, m.RefusedAt = s.blind(m), m.Tried
	p.setAside(m, blockers)
	if s.Named && len(blockers) == 0 && m.Tried < len(p.gone) {
		p.setState(m, Waiting, false) // its blockers have gone meanwhile
	}
}

func (p *Queue) setAside(m *Resource, blockers []string) {
	m.Blockers, m.Due = blockers, time.Time{}
	for _, key := range blockers {
		p.waiters[key] = append(p.waiters[key], m)
	}
	p.setState(m, Parked, false)
}
