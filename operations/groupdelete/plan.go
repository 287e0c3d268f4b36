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
	d := &plan{
		limits: limits, members: map[string]*member{}, below: map[string][]*member{}, waiters: map[string][]*member{},
		before: map[string]map[string]bool{}, tally: newTally(), activeOf: map[string]int{}, atEndpoint: map[string]int{}, pass: 1,
	}
	for _, o := range known {
		d.orderTypes(o)
	}
	return d
}

// add takes a member in, in the state that it has.
func (d *plan) add(m *member) {
	d.members[m.key] = m
	d.all = append(d.all, m)
	if m.parent != "" {
		d.below[m.parent] = append(d.below[m.parent], m)
	}
	d.total++
	d.count(m, 1)
	d.tally.count(m.typ, 1)
	for _, key := range m.blockers {
		d.waiters[key] = append(d.waiters[key], m)
	}
}

// resume goes on, once the members are added, from where an earlier plan left off, of
// which total and deleted were recorded. What has gone since then counts as well; came
// is how many of the members have come since.
func (d *plan) resume(total, deleted, came, pass int) {
	d.pass = max(pass, d.pass)
	gone := deleted + max(0, total-deleted-(len(d.members)-came))
	if gone > 0 {
		d.total, d.went = gone+len(d.members), make([]string, gone) // of types that nobody remembers
	}
}

// forgetGone has a restored member, once all are added, wait no longer for those that
// have gone since.
func (d *plan) forgetGone(m *member) {
	if m.state != memberParked || len(m.blockers) == 0 {
		return
	}
	m.blockers = slices.DeleteFunc(m.blockers, func(key string) bool { return d.members[key] == nil })
	if len(m.blockers) == 0 {
		d.become(m, memberWaiting, false)
	}
}

// progress is how far the deletion has come.
func (d *plan) progress() Progress {
	p := d.counted()
	p.WaitingFor = d.unreachableRegions()
	return p
}

func (d *plan) counted() Progress {
	return Progress{
		Total: d.total, Deleted: d.total - len(d.members), InFlight: d.counts[memberInFlight] + d.counts[memberAccepted],
		Waiting: d.counts[memberWaiting], Parked: d.counts[memberParked], Pass: d.pass,
	}
}

// become moves a member to a state.
func (d *plan) become(m *member, state memberState, unreachable bool) {
	d.count(m, -1)
	m.state, m.unreachable, m.changed = state, unreachable, true
	d.count(m, 1)
}

func (d *plan) count(m *member, by int) {
	d.counts[m.state] += by
	if m.active() {
		d.activeOf[m.typ] += by
	}
	if m.state == memberInFlight {
		d.atEndpoint[m.endpoint] += by
	}
}

// remove removes a member, and lets those that waited for it go on.
func (d *plan) remove(m *member) {
	d.learnFromSuccess(m)
	d.count(m, -1)
	d.tally.count(m.typ, -1)
	delete(d.members, m.key)
	d.went = append(d.went, m.typ)
	if len(d.all) > 64 && len(d.all) > 2*len(d.members) {
		d.all = slices.DeleteFunc(d.all, func(m *member) bool { return d.members[m.key] != m })
	}
	for _, child := range d.below[m.key] {
		if d.members[child.key] == child && (child.state == memberWaiting || child.state == memberParked) {
			d.await(child)
			child.orphan = true
		}
	}
	delete(d.below, m.key)
	waiters := d.waiters[m.key]
	delete(d.waiters, m.key)
	for _, w := range waiters {
		if d.members[w.key] != w || w.state != memberParked || !slices.Contains(w.blockers, m.key) {
			continue
		}
		w.blockers = slices.DeleteFunc(w.blockers, func(key string) bool { return key == m.key })
		if w.changed = true; len(w.blockers) == 0 {
			d.become(w, memberWaiting, false)
		}
	}
}

// await leaves it to another job to find out what becomes of a member.
func (d *plan) await(m *member) {
	m.since, m.tries, m.due, m.blockers, m.orphan = time.Time{}, 0, time.Time{}, nil, false
	d.become(m, memberAccepted, false)
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
func (d *plan) onResult(key string, s callResult, now time.Time) {
	m := d.members[key]
	if m == nil || m.state != memberInFlight {
		return
	}
	if s.outcome == outcomeGone || s.outcome == outcomeAccepted || s.outcome == outcomeRefused && !s.named {
		d.tally.note(m.typ, m.among, s.outcome != outcomeRefused)
	}
	switch s.outcome {
	case outcomeGone:
		d.remove(m)
	case outcomeAccepted:
		d.await(m)
	case outcomeUnproven: // another job asks for it, and it may have to be deleted after that
		d.await(m)
		m.orphan = true
	case outcomeRefused:
		d.park(m, s)
	case outcomeTransient:
		d.retry(m, s, now)
	case outcomeUnreachable, outcomeUnsent:
		m.tries++
		m.why = s.why
		m.due = now.Add(d.pauseOf(m, s.after))
		d.become(m, memberWaiting, s.outcome == outcomeUnreachable)
	}
}

// retry has a member tried again later, as long as its budget lasts.
func (d *plan) retry(m *member, s callResult, now time.Time) {
	if m.since.IsZero() {
		m.since = now
	}
	m.tries++
	m.why = s.why
	m.due = now.Add(d.pauseOf(m, s.after))
	if m.due.Before(m.since.Add(d.limits.budget)) {
		d.become(m, memberWaiting, false)
		return
	}
	d.setAside(m, nil) // its budget stays spent: each further pass tries it once
}

func (d *plan) pauseOf(m *member, asked time.Duration) time.Duration {
	return max(asked, jobs.Backoff(d.limits.pause, max(d.limits.longest, d.limits.pause), m.tries))
}

// park sets a refused member aside, until what it waits for has gone.
func (d *plan) park(m *member, s callResult) {
	m.since, m.tries = time.Time{}, 0
	var blockers []string
	for _, key := range s.blockers {
		if b := d.members[key]; b != nil && b != m && !slices.Contains(blockers, key) {
			blockers = append(blockers, key)
			d.learn(typeOrder{Before: b.typ, After: m.typ})
		}
	}
	m.blind, m.refusedAt = !s.named, m.tried
	d.setAside(m, blockers)
	if s.named && len(blockers) == 0 && m.tried < len(d.went) {
		d.become(m, memberWaiting, false) // what it named has gone meanwhile
	}
}

func (d *plan) setAside(m *member, blockers []string) {
	m.blockers, m.due = blockers, time.Time{}
	for _, key := range blockers {
		d.waiters[key] = append(d.waiters[key], m)
	}
	d.become(m, memberParked, false)
}

// rowState is what the inventory has of a member at a time.
type rowState struct {
	accepted bool       // its deletion is being followed
	doubted  bool       // it is being asked for
	failure  callResult // of one whose followed deletion has failed
}

// observe compares a member with what the inventory has of it. That of one in flight
// comes with its answer.
func (d *plan) observe(key string, s rowState) {
	m := d.members[key]
	switch {
	case m == nil || m.state == memberInFlight:
	case m.state != memberAccepted && s.accepted:
		d.await(m)
	case m.state != memberAccepted || s.accepted || m.orphan && s.doubted:
	case m.orphan: // it outlived what it lay below
		m.orphan = false
		d.become(m, memberWaiting, false)
	default: // its deletion was accepted, and yet it stands
		d.park(m, s.failure)
	}
}

// drop removes a member that is there no more.
func (d *plan) drop(key string) {
	if m := d.members[key]; m != nil && m.state != memberInFlight {
		d.remove(m)
	}
}

// end is what a deletion can come to.
type end uint8

const (
	endNone    end = iota // it goes on
	endEmpty              // all have gone
	endBlocked            // a whole pass made no progress
)

func (d *plan) end() end {
	switch {
	case len(d.members) == 0:
		return endEmpty
	case d.counts[memberParked] == len(d.members) && !d.canPass():
		return endBlocked
	}
	return endNone
}

// canPass reports whether a further pass over what is parked could bring anything:
// something has gone since one of them was tried.
func (d *plan) canPass() bool {
	for _, m := range d.members {
		if m.state == memberParked && m.tried < len(d.went) {
			return true
		}
	}
	return false
}

// unreachableRegions are those that members wait for.
func (d *plan) unreachableRegions() []string {
	regions := map[string]bool{}
	for _, m := range d.members {
		if m.state == memberWaiting && m.unreachable {
			regions[m.region] = true
		}
	}
	return slices.Sorted(maps.Keys(regions))
}
