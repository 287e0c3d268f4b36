package groupdelete

import (
	"maps"
	"slices"
	"time"

	"portico/jobs"
)

// memberState is where the deletion of one resource stands. The numbers are
// stored.
type memberState uint8

const (
	memberWaiting  memberState = iota // to be sent when it is due and nothing holds it back
	memberInFlight                    // its call is under way
	memberAccepted                    // somebody follows its operation, or asks for it
	memberParked                      // refused: it waits until something has gone
)

// member is one resource that has to go.
type member struct {
	key      string // names it within the deletion
	typ      string // folded full type
	region   string
	endpoint string // what is called for it
	parent   string // key of the tracked resource that it lies below, or ""
	manager  string // key of the resource that manages it, or ""
	// refuses: it cannot be deleted while it has children, which otherwise go
	// with it.
	refuses bool

	state memberState
	// orphan: accepted because others ask for it: what it lay below has gone, or a
	// create of it is followed.
	orphan      bool
	unreachable bool      // its region does not answer
	due         time.Time // not to be sent before
	since       time.Time // of the first of the failures that count against its budget
	tries       int       // failures in a row
	why         string    // the last of them, as a sentence
	// tried is how much had gone when it was sent last.
	tried    int
	among    []string // the types that stood then
	blockers []string // keys of the members that have to go before it, as its refusal said
	// blind: it was refused without a reason, when so much had gone as refusedAt.
	blind     bool
	refusedAt int
	changed   bool // since it was recorded
}

// active reports whether a member makes progress by itself. One that waits for its
// region does not.
func (m *member) active() bool {
	return m.state == memberInFlight || m.state == memberAccepted || m.state == memberWaiting && !m.unreachable
}

// planLimits bound a deletion.
type planLimits struct {
	perEndpoint, perJob int           // calls under way
	budget              time.Duration // for one member's passing failures
	pause, longest      time.Duration // before a member is tried again
}

// plan says which resources of a group to call for next, and what an answer means for
// the others. It is pure: it neither calls nor reads a clock, and may be made anew from
// what the inventory holds at any time.
//
// A member is called for when nothing holds it back. What is refused is parked. It is
// called for again when all that its refusal named have gone; or, when nothing else can
// be done, if anything has gone since it was tried: that is a further pass. When not
// even that is left, the deletion cannot go on.
type plan struct {
	limits  planLimits
	members map[string]*member
	all     []*member // in the order in which they came; may hold some that have gone
	below   map[string][]*member
	waiters map[string][]*member // by what they wait for
	before  map[string]map[string]bool
	learnt  []typeOrder // not recorded yet
	tally   tally

	counts     [memberParked + 1]int
	activeOf   map[string]int // by type
	atEndpoint map[string]int // calls under way
	went       []string       // types of what has gone, in order
	total      int
	pass       int
}

func newPlan(limits planLimits, known []typeOrder) *plan {
	p := &plan{
		limits: limits, members: map[string]*member{}, below: map[string][]*member{}, waiters: map[string][]*member{},
		before: map[string]map[string]bool{}, tally: newTally(), activeOf: map[string]int{}, atEndpoint: map[string]int{}, pass: 1,
	}
	for _, o := range known {
		p.orderTypes(o)
	}
	return p
}

// add takes a member in, in the state that it has.
func (p *plan) add(m *member) {
	p.members[m.key] = m
	p.all = append(p.all, m)
	if m.parent != "" {
		p.below[m.parent] = append(p.below[m.parent], m)
	}
	p.total++
	p.count(m, 1)
	p.tally.count(m.typ, 1)
	for _, key := range m.blockers {
		p.waiters[key] = append(p.waiters[key], m)
	}
}

// resume goes on, once the members are added, from where an earlier plan left off, of
// which total and deleted were recorded. What has gone since then counts as well; came
// is how many of the members have come since.
func (p *plan) resume(total, deleted, came, pass int) {
	p.pass = max(pass, p.pass)
	gone := deleted + max(0, total-deleted-(len(p.members)-came))
	if gone > 0 {
		p.total, p.went = gone+len(p.members), make([]string, gone) // of types that nobody remembers
	}
}

// forgetGone has a restored member, once all are added, wait no longer for those that
// have gone since.
func (p *plan) forgetGone(m *member) {
	if m.state != memberParked || len(m.blockers) == 0 {
		return
	}
	m.blockers = slices.DeleteFunc(m.blockers, func(key string) bool { return p.members[key] == nil })
	if len(m.blockers) == 0 {
		p.become(m, memberWaiting, false)
	}
}

// progress is how far the deletion has come.
func (p *plan) progress() Progress {
	progress := p.counted()
	progress.WaitingFor = p.unreachableRegions()
	return progress
}

func (p *plan) counted() Progress {
	return Progress{
		Total: p.total, Deleted: p.total - len(p.members), InFlight: p.counts[memberInFlight] + p.counts[memberAccepted],
		Waiting: p.counts[memberWaiting], Parked: p.counts[memberParked], Pass: p.pass,
	}
}

// become moves a member to a state.
func (p *plan) become(m *member, state memberState, unreachable bool) {
	p.count(m, -1)
	m.state, m.unreachable, m.changed = state, unreachable, true
	p.count(m, 1)
}

func (p *plan) count(m *member, by int) {
	p.counts[m.state] += by
	if m.active() {
		p.activeOf[m.typ] += by
	}
	if m.state == memberInFlight {
		p.atEndpoint[m.endpoint] += by
	}
}

// remove removes a member, and lets those that waited for it go on.
func (p *plan) remove(m *member) {
	p.learnFromSuccess(m)
	p.count(m, -1)
	p.tally.count(m.typ, -1)
	delete(p.members, m.key)
	p.went = append(p.went, m.typ)
	if len(p.all) > 64 && len(p.all) > 2*len(p.members) {
		p.all = slices.DeleteFunc(p.all, func(m *member) bool { return p.members[m.key] != m })
	}
	for _, child := range p.below[m.key] {
		if p.members[child.key] == child && (child.state == memberWaiting || child.state == memberParked) {
			p.await(child)
			child.orphan = true
		}
	}
	delete(p.below, m.key)
	waiters := p.waiters[m.key]
	delete(p.waiters, m.key)
	for _, w := range waiters {
		if p.members[w.key] != w || w.state != memberParked || !slices.Contains(w.blockers, m.key) {
			continue
		}
		w.blockers = slices.DeleteFunc(w.blockers, func(key string) bool { return key == m.key })
		if w.changed = true; len(w.blockers) == 0 {
			p.become(w, memberWaiting, false)
		}
	}
}

// await leaves it to another job to find out what becomes of a member.
func (p *plan) await(m *member) {
	m.since, m.tries, m.due, m.blockers, m.orphan = time.Time{}, 0, time.Time{}, nil, false
	p.become(m, memberAccepted, false)
}

// outcome is what an answer to a member's DELETE means for it.
type outcome uint8

const (
	outcomeGone        outcome = iota
	outcomeAccepted            // the provider works on it
	outcomeRefused             // as things stand
	outcomeTransient           // not now; counts against the budget
	outcomeUnreachable         // its region does not answer
	outcomeUnsent              // nothing was asked
	outcomeUnproven            // nothing is there, and a create is followed
)

var outcomes = [...]string{"gone", "accepted", "refused", "transient", "silent", "unsent", "unproven"}

func (o outcome) String() string { return outcomes[o] }

// callResult is what a member's call came to.
type callResult struct {
	outcome outcome
	after   time.Duration // the pause that the answer asked for
	why     string        // of a failure, as a sentence
	// blockers are the keys of members that a refusal names; named: it names any of
	// the group's resources at all.
	blockers []string
	named    bool
}

// onResult takes what the call of a member came to.
func (p *plan) onResult(key string, s callResult, now time.Time) {
	m := p.members[key]
	if m == nil || m.state != memberInFlight {
		return
	}
	if s.outcome == outcomeGone || s.outcome == outcomeAccepted || s.outcome == outcomeRefused && !s.named {
		p.tally.note(m.typ, m.among, s.outcome != outcomeRefused)
	}
	switch s.outcome {
	case outcomeGone:
		p.remove(m)
	case outcomeAccepted:
		p.await(m)
	case outcomeUnproven: // another job asks for it, and it may have to be deleted after that
		p.await(m)
		m.orphan = true
	case outcomeRefused:
		p.park(m, s)
	case outcomeTransient:
		p.retry(m, s, now)
	case outcomeUnreachable, outcomeUnsent:
		m.tries++
		m.why = s.why
		m.due = now.Add(p.pauseOf(m, s.after))
		p.become(m, memberWaiting, s.outcome == outcomeUnreachable)
	}
}

// retry has a member tried again later, as long as its budget lasts.
func (p *plan) retry(m *member, s callResult, now time.Time) {
	if m.since.IsZero() {
		m.since = now
	}
	m.tries++
	m.why = s.why
	m.due = now.Add(p.pauseOf(m, s.after))
	if m.due.Before(m.since.Add(p.limits.budget)) {
		p.become(m, memberWaiting, false)
		return
	}
	p.setAside(m, nil) // its budget stays spent: each further pass tries it once
}

func (p *plan) pauseOf(m *member, asked time.Duration) time.Duration {
	return max(asked, jobs.Backoff(p.limits.pause, max(p.limits.longest, p.limits.pause), m.tries))
}

// park sets a refused member aside, until what it waits for has gone.
func (p *plan) park(m *member, s callResult) {
	m.since, m.tries = time.Time{}, 0
	var blockers []string
	for _, key := range s.blockers {
		if b := p.members[key]; b != nil && b != m && !slices.Contains(blockers, key) {
			blockers = append(blockers, key)
			p.learn(typeOrder{Before: b.typ, After: m.typ})
		}
	}
	m.blind, m.refusedAt = !s.named, m.tried
	p.setAside(m, blockers)
	if s.named && len(blockers) == 0 && m.tried < len(p.went) {
		p.become(m, memberWaiting, false) // what it named has gone meanwhile
	}
}

func (p *plan) setAside(m *member, blockers []string) {
	m.blockers, m.due = blockers, time.Time{}
	for _, key := range blockers {
		p.waiters[key] = append(p.waiters[key], m)
	}
	p.become(m, memberParked, false)
}

// rowState is what the inventory has of a member at a time.
type rowState struct {
	accepted bool       // its deletion is being followed
	doubted  bool       // it is being asked for
	failure  callResult // of one whose followed deletion has failed
}

// observe compares a member with what the inventory has of it. That of one in flight
// comes with its answer.
func (p *plan) observe(key string, s rowState) {
	m := p.members[key]
	switch {
	case m == nil || m.state == memberInFlight:
	case m.state != memberAccepted && s.accepted:
		p.await(m)
	case m.state != memberAccepted || s.accepted || m.orphan && s.doubted:
	case m.orphan: // it outlived what it lay below
		m.orphan = false
		p.become(m, memberWaiting, false)
	default: // its deletion was accepted, and yet it stands
		p.park(m, s.failure)
	}
}

// drop removes a member that is there no more.
func (p *plan) drop(key string) {
	if m := p.members[key]; m != nil && m.state != memberInFlight {
		p.remove(m)
	}
}

// end is what a deletion can come to.
type end uint8

const (
	endNone    end = iota // it goes on
	endEmpty              // all have gone
	endBlocked            // a whole pass made no progress
)

func (p *plan) end() end {
	switch {
	case len(p.members) == 0:
		return endEmpty
	case p.counts[memberParked] == len(p.members) && !p.canPass():
		return endBlocked
	}
	return endNone
}

// canPass reports whether a further pass over what is parked could bring anything:
// something has gone since one of them was tried.
func (p *plan) canPass() bool {
	for _, m := range p.members {
		if m.state == memberParked && m.tried < len(p.went) {
			return true
		}
	}
	return false
}

// unreachableRegions are those that members wait for.
func (p *plan) unreachableRegions() []string {
	regions := map[string]bool{}
	for _, m := range p.members {
		if m.state == memberWaiting && m.unreachable {
			regions[m.region] = true
		}
	}
	return slices.Sorted(maps.Keys(regions))
}
