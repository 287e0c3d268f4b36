// Package deletionplan decides which of many resources to delete next, and how an answer affects
// the others. It is pure: it neither calls nor reads a clock, and a [Queue] can be built again
// from the inventory at any time.
package deletionplan

import (
	"maps"
	"slices"
	"time"

	"portico/inventory"
)

// State is the progress of one resource's deletion. The numbers are stored.
type State uint8

// The states.
const (
	Waiting  State = iota // it is sent when it is due and nothing holds it back
	InFlight              // its call is under way
	Accepted              // another job follows its operation, or probes it
	Parked                // refused: it waits until something has gone
)

// Resource is one resource to delete.
type Resource struct {
	Key      string // its name within the deletion
	ID       string // as it was written
	Type     string // folded full type
	Region   string
	Endpoint string // the endpoint of its calls
	Parent   string // key of the tracked resource that it lies below, or ""
	Manager  string // key of the resource that manages it, or ""
	// Refuses: its provider refuses to delete it while it has children. Without Refuses
	// the children go with it.
	Refuses bool

	State State
	// Orphan: another job probes it, because its parent has gone or a create of it is
	// followed.
	Orphan      bool
	Unreachable bool      // its region does not answer
	Due         time.Time // not to be sent before
	Since       time.Time // the first failure that counts against its budget
	Tries       int       // failures in a row
	Failing     time.Time // the first of them
	Why         string    // the last of them, as a sentence
	// Tried is how many resources had gone when it was last sent.
	Tried       int
	typesAtSend []string // the types that existed then
	Blockers    []string // keys of the resources that have to go before it, from its refusal
	// Blind: it was refused without a reason, when RefusedAt resources had gone.
	Blind     bool
	RefusedAt int
	// Busy names the write of its own that may be under way, such as PUT; "" for none. Its
	// provider may refuse to delete it until that has ended.
	Busy string
	// Again: the write of a resource has ended since it was last sent.
	Again   bool
	Changed bool // since it was recorded
	refused bool // by the last answer, also while it is tried again
}

// active reports whether a resource makes progress by itself. A resource that waits for its
// region does not.
func (m *Resource) active() bool {
	return m.State == InFlight || m.State == Accepted || m.State == Waiting && !m.Unreachable
}

// Limits bound a deletion.
type Limits struct {
	PerEndpoint, PerJob int           // calls under way
	Budget              time.Duration // for one resource's passing failures
	Pause, Longest      time.Duration // before a resource is tried again
}

// LongestWait bounds the pause before a resource is tried again, unless its provider asked
// for one.
const LongestWait = 15 * time.Second

// Queue is the plan of a deletion.
//
// A resource is sent when nothing holds it back. A refused resource is parked. It is sent
// again when all resources that its refusal named have gone; if it named none, when the
// write of its own has ended that may have been under way; or, when nothing else can be
// done, if any resource has gone since it was tried, or the write of any has ended: that is
// a further pass. When no pass is left, and no write of a resource is under way, the
// deletion cannot go on.
type Queue struct {
	limits    Limits
	Resources map[string]*Resource
	all       []*Resource // in the order in which they came; may hold some that have gone
	below     map[string][]*Resource
	waiters   map[string][]*Resource // by the resource that they wait for
	before    map[string]map[string]bool
	Learnt    []inventory.TypeOrder // not recorded yet
	tally     typeScores

	counts     [Parked + 1]int // by state
	activeOf   map[string]int  // by type
	atEndpoint map[string]int  // calls under way
	busy       int             // parked resources with a write of their own
	gone       []string        // types of the resources that have gone, in order
	Total      int
	pass       int
	stopped    bool
}

// New returns an empty queue. known is the order of types that earlier
// deletions have learnt.
func New(limits Limits, known []inventory.TypeOrder) *Queue {
	p := &Queue{
		limits: limits, Resources: map[string]*Resource{}, below: map[string][]*Resource{}, waiters: map[string][]*Resource{},
		before: map[string]map[string]bool{}, tally: newTally(), activeOf: map[string]int{}, atEndpoint: map[string]int{}, pass: 1,
	}
	for _, o := range known {
		p.orderTypes(o)
	}
	return p
}

// Add adds a resource in the state that it has.
func (p *Queue) Add(m *Resource) {
	p.Resources[m.Key] = m
	p.all = append(p.all, m)
	if m.Parent != "" {
		p.below[m.Parent] = append(p.below[m.Parent], m)
	}
	p.Total++
	p.count(m, 1)
	p.tally.count(m.Type, 1)
	for _, key := range m.Blockers {
		p.waiters[key] = append(p.waiters[key], m)
	}
}

// Resume continues an earlier deletion once the resources are added. total and deleted are
// its recorded progress. Members that have gone since then count as deleted;
// came is the number of resources that have been added since.
func (p *Queue) Resume(total, deleted, came, pass int) {
	for _, m := range p.Resources {
		p.forgetGone(m)
	}
	p.pass = max(pass, p.pass)
	gone := deleted + max(0, total-deleted-(len(p.Resources)-came))
	if gone > 0 {
		p.Total, p.gone = gone+len(p.Resources), make([]string, gone) // their types are no longer known
	}
}

// forgetGone removes the blockers of a restored resource that have gone since.
func (p *Queue) forgetGone(m *Resource) {
	if m.State != Parked || len(m.Blockers) == 0 {
		return
	}
	m.Blockers = slices.DeleteFunc(m.Blockers, func(key string) bool { return p.Resources[key] == nil })
	if len(m.Blockers) == 0 {
		p.setState(m, Waiting, false)
	}
}

// Summary is the progress of a deletion.
type Summary struct {
	Total      int      `json:"total"` // of the resources that it found so far
	Deleted    int      `json:"deleted"`
	InFlight   int      `json:"inFlight"` // their deletion is under way
	Waiting    int      `json:"waiting"`
	Parked     int      `json:"parked"` // refused
	Pass       int      `json:"pass"`
	WaitingFor []string `json:"waitingFor,omitempty"` // regions that do not answer
}

// Summary returns the progress of the deletion.
func (p *Queue) Summary() Summary {
	progress := p.Counted()
	progress.WaitingFor = p.unreachableRegions()
	return progress
}

// Counted returns the progress without the regions.
func (p *Queue) Counted() Summary {
	return Summary{
		Total: p.Total, Deleted: p.Total - len(p.Resources), InFlight: p.counts[InFlight] + p.counts[Accepted],
		Waiting: p.counts[Waiting], Parked: p.counts[Parked], Pass: p.pass,
	}
}

// setState moves a resource to a state.
func (p *Queue) setState(m *Resource, state State, unreachable bool) {
	p.count(m, -1)
	m.State, m.Unreachable, m.Changed = state, unreachable, true
	p.count(m, 1)
}

func (p *Queue) count(m *Resource, by int) {
	p.counts[m.State] += by
	if m.active() {
		p.activeOf[m.Type] += by
	}
	if m.State == InFlight {
		p.atEndpoint[m.Endpoint] += by
	}
	if m.State == Parked && m.Busy != "" {
		p.busy += by
	}
}

// remove removes a resource, and lets resources that waited for it go on.
func (p *Queue) remove(m *Resource) {
	p.learnFromSuccess(m)
	p.count(m, -1)
	p.tally.count(m.Type, -1)
	delete(p.Resources, m.Key)
	p.gone = append(p.gone, m.Type)
	if len(p.all) > 64 && len(p.all) > 2*len(p.Resources) {
		p.all = slices.DeleteFunc(p.all, func(m *Resource) bool { return p.Resources[m.Key] != m })
	}
	for _, child := range p.below[m.Key] {
		if p.Resources[child.Key] == child && (child.State == Waiting || child.State == Parked) {
			p.AwaitProof(child)
		}
	}
	delete(p.below, m.Key)
	waiters := p.waiters[m.Key]
	delete(p.waiters, m.Key)
	for _, w := range waiters {
		if p.Resources[w.Key] != w || w.State != Parked || !slices.Contains(w.Blockers, m.Key) {
			continue
		}
		w.Blockers = slices.DeleteFunc(w.Blockers, func(key string) bool { return key == m.Key })
		if w.Changed = true; len(w.Blockers) == 0 {
			p.setState(w, Waiting, false)
		}
	}
}

// awaitOutcome leaves it to another job to find out a resource's outcome.
func (p *Queue) awaitOutcome(m *Resource) {
	m.Since, m.Tries, m.Due, m.Blockers, m.Orphan = time.Time{}, 0, time.Time{}, nil, false
	p.setState(m, Accepted, false)
}

// Stop makes Next return nothing from now on.
func (p *Queue) Stop() { p.stopped = true }

// AwaitProof leaves it to another job to find out whether a resource still exists: if it
// does, it is sent.
func (p *Queue) AwaitProof(m *Resource) {
	p.awaitOutcome(m)
	m.Orphan = true
}

// Busy returns the number of refused resources with a write of their own that may be under
// way.
func (p *Queue) Busy() int { return p.busy }

// In returns the number of resources in a state.
func (p *Queue) In(s State) int { return p.counts[s] }

// RowState is a resource's state in the inventory at a time.
type RowState struct {
	Accepted   bool   // a job follows its deletion
	Unverified bool   // a job verifies it
	Failure    Result // of one whose followed deletion has failed
	Busy       string // see Resource
}

// Observe compares a resource with its state in the inventory. It ignores a resource in
// flight, whose state comes with its answer.
func (p *Queue) Observe(key string, s RowState) {
	m := p.Resources[key]
	if m == nil || m.State == InFlight {
		return
	}
	ended := m.Busy != "" && s.Busy == ""
	switch p.setBusy(m, s.Busy); {
	case m.State != Accepted && s.Accepted: // by somebody else
		p.AwaitProof(m)
	case m.State != Accepted || s.Accepted || m.Orphan && s.Unverified:
	case m.Orphan: // it outlived its parent
		m.Orphan = false
		p.setState(m, Waiting, false)
	default: // its deletion was accepted, yet it still exists
		p.park(m, s.Failure)
	}
	if ended {
		p.writeEnded(m)
	}
}

func (p *Queue) setBusy(m *Resource, busy string) {
	if m.Busy == busy {
		return
	}
	p.count(m, -1)
	m.Busy, m.Changed = busy, true
	p.count(m, 1)
}

// writeEnded lets refused resources be tried again after a write of one has ended: that one at
// once, unless it waits for others, and all others in a further pass, as refusals need not name
// the resource that they wait for.
func (p *Queue) writeEnded(m *Resource) {
	for _, other := range p.all {
		if p.Resources[other.Key] == other && (other.State == Parked || other.State == InFlight) {
			other.Again, other.Blind, other.Changed = true, false, true
		}
	}
	if m.State == Parked && len(m.Blockers) == 0 {
		p.setState(m, Waiting, false)
	}
}

// Drop removes a resource that no longer exists.
func (p *Queue) Drop(key string) {
	if m := p.Resources[key]; m != nil && m.State != InFlight {
		p.remove(m)
	}
}

// End is the end of a deletion.
type End uint8

// The ends.
const (
	EndNone    End = iota // it goes on
	EndEmpty              // all have gone
	EndBlocked            // a whole pass made no progress, and none is to come
)

// End returns how the deletion has ended.
func (p *Queue) End() End {
	switch {
	case len(p.Resources) == 0:
		return EndEmpty
	case p.counts[Parked] == len(p.Resources) && p.busy == 0 && !p.canPass():
		return EndBlocked
	}
	return EndNone
}

// canPass reports whether a further pass over the parked resources could succeed.
func (p *Queue) canPass() bool {
	for _, m := range p.Resources {
		if p.mayGoNow(m) {
			return true
		}
	}
	return false
}

// mayGoNow reports whether a parked resource could succeed now: another has gone since it
// was tried, or the write of one has ended.
func (p *Queue) mayGoNow(m *Resource) bool {
	return m.State == Parked && (m.Again || m.Tried < len(p.gone))
}

// unreachableRegions returns the regions that resources wait for, also while these are tried
// again, which may take as long as a call.
func (p *Queue) unreachableRegions() []string {
	regions := map[string]bool{}
	for _, m := range p.Resources {
		if m.Unreachable {
			regions[m.Region] = true
		}
	}
	return slices.Sorted(maps.Keys(regions))
}
