// Package moveplan decides the course of a move: the effect of an answer, which IDs to probe,
// and when a call may be sent again. It is pure: it neither calls nor reads a clock.
package moveplan

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"portico/internal/timing"
	"portico/inventory"
)

// phase is the progress of a call. The numbers are stored.
type phase uint8

const (
	phaseUnsent  phase = iota // it is sent when it is due; nothing of it can be on its way
	phaseOpen                 // it was sent, and its resources are probed
	phaseRunning              // it was accepted, and its operation is followed
)

// State is the state of one resource's move. The numbers are stored.
type State uint8

// The states of a resource.
const (
	Open State = iota
	Moved
	Stayed
	Gone
)

func (f State) String() string { return [...]string{"open", "moved", "stayed", "gone"}[f] }

// Resource is a resource of the move.
type Resource struct {
	ID    string `json:"id"`
	Key   string `json:"key"`
	Type  string `json:"type"` // as declared
	Stray bool   `json:"stray,omitempty"`
	State State  `json:"fate,omitempty"`  // as the inventory has it
	Error string `json:"error,omitempty"` // why it stays, if its call does not say

	Decided   State                `json:"-"` // the state that is to be recorded
	seenAtOld bool                 // it was just seen at its old place
	Twin      *inventory.Discovery `json:"-"` // it was just seen at its new place as well
}

// Call asks one provider to move all its resources in one region.
type Call struct {
	Namespace string      `json:"namespace"`
	Region    string      `json:"region"`
	Version   string      `json:"version"` // api-version
	Resources []*Resource `json:"members"`
	Phase     phase       `json:"phase,omitempty"`
	Due       time.Time   `json:"due,omitzero"` // nothing is to be done before
	// Ends is the time after which no sent request can take effect.
	Ends  time.Time `json:"ends,omitzero"`
	Since time.Time `json:"since,omitzero"` // of the first of the failures that count against its budget
	Tries int       `json:"tries,omitempty"`
	Final bool      `json:"final,omitempty"` // it is not sent again
	// Claimed: its provider says that all has moved and that the call is over.
	Claimed bool   `json:"claimed,omitempty"`
	Poll    *Poll  `json:"poll,omitempty"`
	Error   string `json:"error,omitempty"` // the provider's latest words

	unreachable bool // its region does not answer
}

// Poll is the URL of a call's operation.
type Poll struct {
	Path   string `json:"path"`
	Query  string `json:"query,omitempty"`
	Status bool   `json:"status,omitempty"` // as in inventory.Poll
}

// Open returns the resources whose outcome is unknown.
func (c *Call) Open() (members []*Resource) {
	for _, m := range c.Resources {
		if m.State == Open && m.Decided == Open {
			members = append(members, m)
		}
	}
	return members
}

// Row returns a row for a probe of a resource at its old place.
func (c *Call) Row(m *Resource, sub string) inventory.Resource {
	return inventory.Resource{Subscription: sub, Key: m.Key, ID: m.ID, TypeName: m.Type, Region: c.Region, APIVersion: c.Version}
}

// Unrecorded returns the resources whose outcome is known but not recorded.
func (c *Call) Unrecorded(limit int) (page []*Resource) {
	for _, m := range c.Resources {
		if m.State == Open && m.Decided != Open && len(page) < limit {
			page = append(page, m)
		}
	}
	return page
}

// Types returns the types of a call's resources, each once.
func (c *Call) Types() (names []string) {
	for _, m := range c.Resources {
		if !slices.Contains(names, m.Type) {
			names = append(names, m.Type)
		}
	}
	return names
}

// Limits bound a move.
type Limits struct {
	Budget, Pause, Longest time.Duration // for a call's transient failures; before it is tried again
	Window                 time.Duration // in which a call that was accepted without a URL, or lost, may take effect
}

// Move is the plan of one move. It can continue from its record at any time.
//
// Each call is sent once. Whatever its answer, each resource is then probed under both of
// its IDs: the provider's word that all has moved is only a claim. A resource that is
// seen only at its new place has moved. One that is seen only at its old place has
// stayed, once the call can no longer take effect; only then may the call be sent again,
// for the resources that stayed. A resource that is seen at neither place is gone, unless
// it appears before the late-write window has passed.
type Move struct {
	Limits Limits
	Calls  []*Call
}

// Action is the next action for a call.
type Action uint8

// The actions.
const (
	ActionSend Action = iota
	ActionPoll
	ActionProbe
)

// Task is an action to do for a call.
type Task struct {
	Call   *Call
	Action Action
}

// Next lists the tasks to do now.
func (p *Move) Next(now time.Time) (tasks []Task) {
	for _, c := range p.Calls {
		if c.Due.After(now) || len(c.Open()) == 0 {
			continue
		}
		step := ActionSend
		switch c.Phase {
		case phaseOpen:
			step = ActionProbe
		case phaseRunning:
			step = ActionPoll
		case phaseUnsent:
		}
		tasks = append(tasks, Task{c, step})
	}
	return tasks
}

// Sent marks a call as about to be sent; it cannot take effect after ends.
func (c *Call) Sent(ends time.Time) {
	c.Phase, c.Ends, c.Poll, c.Error, c.Due, c.unreachable = phaseOpen, ends, nil, "", time.Time{}, false
}

// Outcome is the outcome of a call, or of a poll of its operation.
type Outcome uint8

// The outcomes.
const (
	OutcomeMoved     Outcome = iota // its provider says that all has moved
	OutcomeAccepted                 // the provider works on it, also still
	OutcomeOver                     // its operation has ended; probes show its effect
	OutcomeRefused                  // the call is over; probes show its effect
	OutcomeThrottled                // not now
	OutcomeAmbiguous                // the outcome is unknown
	OutcomeNotSent                  // no byte of it has left, or the poll got no answer
	OutcomeLost                     // the provider no longer knows its operation
)

var outcomes = [...]string{"moved", "accepted", "over", "refused", "throttled", "ambiguous", "unsent", "lost"}

func (o Outcome) String() string { return outcomes[o] }

// Result is the result of a call or a poll, with the other contents of its answer.
type Result struct {
	Outcome     Outcome
	After       time.Duration // the pause that the answer asked for
	Poll        *Poll         // of an acceptance, nil for none or the same
	Text        string        // of a failure
	Unreachable bool          // its region does not answer
}

// OnResult applies the result of a call or a poll.
func (p *Move) OnResult(c *Call, s Result, now time.Time) {
	polled := c.Phase == phaseRunning
	c.unreachable = s.Unreachable
	if s.Text != "" {
		c.Error = s.Text
	}
	switch s.Outcome {
	case OutcomeAccepted:
		p.onAccepted(c, s, now, polled)
	case OutcomeMoved, OutcomeOver, OutcomeRefused:
		c.Phase, c.Final, c.Ends, c.Due = phaseOpen, true, now, now
		if c.Claimed = s.Outcome != OutcomeRefused && s.Text == ""; c.Claimed {
			c.Ends = now.Add(p.Limits.Window)
		}
	case OutcomeLost:
		c.Phase, c.Final, c.Ends, c.Due = phaseOpen, true, now.Add(p.Limits.Window), now
	case OutcomeThrottled:
		if p.countFailure(c, s.After, now) {
			c.Phase = phaseUnsent
			return
		}
		c.Phase, c.Final, c.Ends, c.Due = phaseOpen, true, now, now
	case OutcomeAmbiguous:
		p.countFailure(c, s.After, now)
		c.Phase, c.Due = phaseOpen, now
	case OutcomeNotSent:
		c.Tries++
		c.Due = now.Add(p.pauseOf(c, s.After))
		if !polled {
			c.Phase = phaseUnsent
		}
	}
}

func (p *Move) onAccepted(c *Call, s Result, now time.Time, polled bool) {
	if s.Poll != nil {
		c.Poll = s.Poll
	}
	c.Tries = 0
	c.Due = now.Add(max(s.After, p.Limits.Pause))
	if c.Phase = phaseRunning; c.Poll == nil && !polled {
		c.Phase, c.Ends = phaseOpen, now.Add(p.Limits.Window)
	}
}

// countFailure counts a failure and makes the call wait. It reports whether the budget lasts.
func (p *Move) countFailure(c *Call, after time.Duration, now time.Time) bool {
	if c.Since.IsZero() {
		c.Since = now
	}
	c.Tries++
	c.Due = now.Add(p.pauseOf(c, after))
	return p.budgetLasts(c, c.Due)
}

func (p *Move) budgetLasts(c *Call, at time.Time) bool {
	return c.Since.IsZero() || at.Before(c.Since.Add(p.Limits.Budget))
}

func (p *Move) pauseOf(c *Call, retryAfter time.Duration) time.Duration {
	return max(retryAfter, timing.Backoff(p.Limits.Pause, max(p.Limits.Longest, p.Limits.Pause), c.Tries))
}

// Presence has the places where a resource was seen.
type Presence struct {
	Known    bool // both places have answered whether they hold it
	Old, New bool
	Working  bool // its provider is still working on it
}

// Observe applies the places where a resource of an open call was seen, by probes that
// started at a time.
func (c *Call) Observe(m *Resource, s Presence, probed time.Time) {
	over := !probed.Before(c.Ends)
	switch {
	case !s.Known || m.Decided != Open:
	case s.New && !s.Old:
		m.Decided = Moved
	case s.Working:
	case s.Old && (over || c.Claimed): // a claimed call is over
		m.seenAtOld = true
	case !over:
	default:
		m.Decided = Gone
	}
}

// Conclude decides how a call goes on after all its open resources were probed. answered:
// their region gave an answer.
func (p *Move) Conclude(c *Call, answered bool, now time.Time) {
	c.unreachable = !answered
	open := c.Open()
	stand := 0
	for _, m := range open {
		if m.seenAtOld {
			stand++
		}
		m.seenAtOld = false
	}
	switch {
	case stand < len(open) || stand == 0: // they are probed again
		c.Tries++
		c.Due = now.Add(p.pauseOf(c, 0))
		if now.Before(c.Ends) && c.Ends.Before(c.Due) {
			c.Due = c.Ends
		}
	case !c.Final && p.budgetLasts(c, now):
		c.Phase, c.Due = phaseUnsent, now.Add(p.Limits.Pause)
	default:
		for _, m := range open {
			m.Decided = Stayed
		}
	}
}

// Stop ends the sending of calls. Resources that were not sent stay, for the given
// reason.
func (p *Move) Stop(reason string) {
	for _, c := range p.Calls {
		c.Final = true
		if c.Phase != phaseUnsent {
			continue
		}
		for _, m := range c.Open() {
			m.Decided = Stayed
			if c.Error == "" {
				m.Error = reason
			}
		}
	}
}

// Ended reports whether every resource's outcome is recorded.
func (p *Move) Ended() bool {
	for _, c := range p.Calls {
		for _, m := range c.Resources {
			if m.State == Open {
				return false
			}
		}
	}
	return true
}

// Wake returns when there is something to do next.
func (p *Move) Wake() (first time.Time) {
	for _, c := range p.Calls {
		if len(c.Open()) > 0 && (first.IsZero() || c.Due.Before(first)) {
			first = c.Due
		}
	}
	return first
}

// Summary is the progress of a move.
type Summary struct {
	Total      int      `json:"total"`
	Moved      int      `json:"moved"`
	InFlight   int      `json:"inFlight"`
	Waiting    int      `json:"waiting"`
	Failed     int      `json:"failed"`
	WaitingFor []string `json:"waitingFor,omitempty"` // regions that do not answer
}

// Summary returns the progress of the move.
func (p *Move) Summary() (all Summary) {
	unreachable := map[string]bool{}
	for _, c := range p.Calls {
		for _, m := range c.Resources {
			all.Total++
			switch {
			case m.State == Moved:
				all.Moved++
			case m.State != Open:
				all.Failed++
			case c.Phase == phaseUnsent:
				all.Waiting++
			default:
				all.InFlight++
			}
			if m.State == Open && c.unreachable {
				unreachable[c.Region] = true
			}
		}
	}
	all.WaitingFor = slices.Sorted(maps.Keys(unreachable))
	return all
}

// Candidate is a resource that may move.
type Candidate struct {
	Resource                  Resource
	Namespace, Region, Server string   // server: the endpoint, within its region
	Versions                  []string // api-versions, newest first
	Refusal                   string   // why it cannot move
}

// CallsFor groups candidates into calls, one for each endpoint.
func CallsFor(all []Candidate) (calls []*Call) {
	type place struct{ namespace, region, server string }
	at, versions := map[place]*Call{}, map[*Call][]string{}
	refused := &Call{}
	for _, r := range all {
		member := r.Resource
		if r.Refusal != "" {
			member.State, member.Error = Stayed, r.Refusal
			refused.Resources = append(refused.Resources, &member)
			continue
		}
		to := place{r.Namespace, r.Region, r.Server}
		c := at[to]
		if c == nil {
			c = &Call{Namespace: r.Namespace, Region: r.Region}
			at[to], versions[c] = c, r.Versions
			calls = append(calls, c)
		}
		c.Resources = append(c.Resources, &member)
		// The newest version that all types know, else the newest of the first type.
		versions[c] = slices.DeleteFunc(slices.Clone(versions[c]), func(v string) bool { return !slices.Contains(r.Versions, v) })
		if len(versions[c]) > 0 {
			c.Version = versions[c][0]
		}
	}
	slices.SortStableFunc(calls, func(a, b *Call) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Region, b.Region))
	})
	if len(refused.Resources) > 0 {
		calls = append(calls, refused)
	}
	return calls
}

// InventoryRow returns a resource in the form of package inventory.
func (c *Call) InventoryRow(m *Resource) inventory.MoveResource {
	return inventory.MoveResource{Key: m.Key, Region: c.Region, Stray: m.Stray}
}
