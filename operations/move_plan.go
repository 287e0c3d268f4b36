package operations

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"portico/inventory"
)

// movePhase is where a call stands that moves resources. The numbers are stored.
type movePhase uint8

const (
	moveUnsent  movePhase = iota // to be sent when it is due; nothing of it can be on its way
	moveOpen                     // it was sent, and its outcome is asked for
	moveRunning                  // it was accepted, and its operation is followed
)

// moveFate is what became of a resource that was to move. The numbers are stored.
type moveFate uint8

const (
	fateOpen moveFate = iota
	fateMoved
	fateStayed
	fateGone
)

// MovingMember is a resource that is to move.
type MovingMember struct {
	ID    string   `json:"id"`
	Key   string   `json:"key"`
	Type  string   `json:"type"` // as declared
	Stray bool     `json:"stray,omitempty"`
	Fate  moveFate `json:"fate,omitempty"`  // as the inventory has it
	Error string   `json:"error,omitempty"` // why it stays, if its call does not say

	verdict moveFate            // the fate that is to be recorded
	stands  bool                // it was just seen where it was
	twin    *inventory.Sighting // it was just seen at its new place as well
}

// MovingCall is what one provider is told in one region: to move all that it
// has there.
type MovingCall struct {
	Namespace string          `json:"namespace"`
	Region    string          `json:"region"`
	Version   string          `json:"version"` // api-version
	Members   []*MovingMember `json:"members"`
	Phase     movePhase       `json:"phase,omitempty"`
	Due       time.Time       `json:"due,omitzero"` // nothing is to be done before
	// Ends is from when on nothing that was sent can take effect any more.
	Ends  time.Time   `json:"ends,omitzero"`
	Since time.Time   `json:"since,omitzero"` // of the first of the failures that count against its budget
	Tries int         `json:"tries,omitempty"`
	Final bool        `json:"final,omitempty"` // it is not sent again
	Poll  *MovingPoll `json:"poll,omitempty"`
	Error string      `json:"error,omitempty"` // the provider's latest words

	silent bool // its region does not answer
}

// MovingPoll is where the operation of a call is followed.
type MovingPoll struct {
	Path   string `json:"path"`
	Query  string `json:"query,omitempty"`
	Status bool   `json:"status,omitempty"` // as in inventory.Poll
}

// open are the members whose fate is not known.
func (c *MovingCall) open() (members []*MovingMember) {
	for _, m := range c.Members {
		if m.Fate == fateOpen && m.verdict == fateOpen {
			members = append(members, m)
		}
	}
	return members
}

// moveLimits bound a move.
type moveLimits struct {
	budget, pause, longest time.Duration // for a call's passing failures; before it is tried again
	window                 time.Duration // in which what was accepted without a URL, or lost, may take effect
}

// movePlan is what becomes of resources that move. It is pure: it neither calls
// nor reads a clock, and goes on from what was recorded of it at any time.
//
// Each call is sent once. What its answer leaves open, be it that there was none,
// is asked for under both IDs of each resource: whatever is seen at its new place
// alone has moved, and whatever is seen at its old place alone has stayed as soon
// as nothing of the call can take effect any more; only then it may be sent again,
// for what has stayed.
type movePlan struct {
	limits moveLimits
	calls  []*MovingCall
}

// moveStep is what a call is to do next.
type moveStep uint8

const (
	stepSend moveStep = iota
	stepPoll
	stepAsk
)

type moveTask struct {
	call *MovingCall
	step moveStep
}

// next lists what is to be done now.
func (p *movePlan) next(now time.Time) (tasks []moveTask) {
	for _, c := range p.calls {
		if c.Due.After(now) || len(c.open()) == 0 {
			continue
		}
		step := stepSend
		switch c.Phase {
		case moveOpen:
			step = stepAsk
		case moveRunning:
			step = stepPoll
		case moveUnsent:
		}
		tasks = append(tasks, moveTask{c, step})
	}
	return tasks
}

// sent marks a call as about to be sent; nothing of it takes effect after ends.
func (c *MovingCall) sent(ends time.Time) {
	c.Phase, c.Ends, c.Poll, c.Error, c.Due, c.silent = moveOpen, ends, nil, "", time.Time{}, false
}

// moveResult is what a call, or a poll of its operation, came to.
type moveResult uint8

const (
	moveDone      moveResult = iota // all has moved
	moveAccepted                    // the provider works on it, also still
	moveOver                        // its operation has ended; what it did is to be seen
	moveRefused                     // nothing more will come of it; what it did is to be seen
	moveThrottled                   // not now
	moveAmbiguous                   // nobody knows
	moveNotSent                     // no byte of it has left, or the poll said nothing
	moveLost                        // its operation is not known any more
)

var moveResults = [...]string{"moved", "accepted", "over", "refused", "throttled", "ambiguous", "unsent", "lost"}

func (r moveResult) String() string { return moveResults[r] }

type moveSaid struct {
	result moveResult
	after  time.Duration // the pause that the answer asked for
	poll   *MovingPoll   // of an acceptance, nil for none or the same
	text   string        // of a failure
	silent bool          // its region does not answer
}

// hear takes what a call, or a poll, came to.
func (p *movePlan) hear(c *MovingCall, s moveSaid, now time.Time) {
	polled := c.Phase == moveRunning
	c.silent = s.silent
	if s.text != "" {
		c.Error = s.text
	}
	switch s.result {
	case moveDone:
		for _, m := range c.open() {
			m.verdict = fateMoved
		}
	case moveAccepted:
		p.accept(c, s, now, polled)
	case moveOver, moveRefused:
		c.Phase, c.Final, c.Ends, c.Due = moveOpen, true, now, now
	case moveLost:
		c.Phase, c.Final, c.Ends, c.Due = moveOpen, true, now.Add(p.limits.window), now
	case moveThrottled:
		if p.fails(c, s.after, now) {
			c.Phase = moveUnsent
			return
		}
		c.Phase, c.Final, c.Ends, c.Due = moveOpen, true, now, now
	case moveAmbiguous:
		p.fails(c, s.after, now)
		c.Phase, c.Due = moveOpen, now
	case moveNotSent:
		c.Tries++
		c.Due = now.Add(p.pauseOf(c, s.after))
		if !polled {
			c.Phase = moveUnsent
		}
	}
}

func (p *movePlan) accept(c *MovingCall, s moveSaid, now time.Time, polled bool) {
	if s.poll != nil {
		c.Poll = s.poll
	}
	c.Tries = 0
	c.Due = now.Add(max(s.after, p.limits.pause))
	if c.Phase = moveRunning; c.Poll == nil && !polled {
		c.Phase, c.Ends = moveOpen, now.Add(p.limits.window)
	}
}

// fails counts a failure and has the call wait, and tells whether its budget
// lasts.
func (p *movePlan) fails(c *MovingCall, after time.Duration, now time.Time) bool {
	if c.Since.IsZero() {
		c.Since = now
	}
	c.Tries++
	c.Due = now.Add(p.pauseOf(c, after))
	return p.lasts(c, c.Due)
}

func (p *movePlan) lasts(c *MovingCall, at time.Time) bool {
	return c.Since.IsZero() || at.Before(c.Since.Add(p.limits.budget))
}

func (p *movePlan) pauseOf(c *MovingCall, asked time.Duration) time.Duration {
	return max(asked, min(p.limits.pause<<min(max(c.Tries-1, 0), 16), max(p.limits.longest, p.limits.pause)))
}

// moveSight is where a member was seen.
type moveSight struct {
	known    bool // both places have said whether they hold it
	old, new bool
	working  bool // something is still being done to it
}

// see takes what was seen of a member of an open call, by questions that began
// at a time.
func (c *MovingCall) see(m *MovingMember, s moveSight, asked time.Time) {
	over := !asked.Before(c.Ends)
	switch {
	case !s.known || m.verdict != fateOpen:
	case s.new && !s.old:
		m.verdict = fateMoved
	case !over || s.working:
	case s.old:
		m.stands = true
	default:
		m.verdict = fateGone
	}
}

// conclude decides what comes after all open members of a call were asked for.
// heard tells whether their region answered.
func (p *movePlan) conclude(c *MovingCall, heard bool, now time.Time) {
	c.silent = !heard
	open := c.open()
	stand := 0
	for _, m := range open {
		if m.stands {
			stand++
		}
		m.stands = false
	}
	switch {
	case stand < len(open) || stand == 0: // they are asked for again
		c.Tries++
		c.Due = now.Add(p.pauseOf(c, 0))
		if now.Before(c.Ends) && c.Ends.Before(c.Due) {
			c.Due = c.Ends
		}
	case !c.Final && p.lasts(c, now):
		c.Phase, c.Due = moveUnsent, now.Add(p.limits.pause)
	default:
		for _, m := range open {
			m.verdict = fateStayed
		}
	}
}

// stop has no call sent any more. What was not sent stays, for the reason given.
func (p *movePlan) stop(reason string) {
	for _, c := range p.calls {
		c.Final = true
		if c.Phase != moveUnsent {
			continue
		}
		for _, m := range c.open() {
			m.verdict = fateStayed
			if c.Error == "" {
				m.Error = reason
			}
		}
	}
}

// ended tells whether the fate of everything is recorded.
func (p *movePlan) ended() bool {
	for _, c := range p.calls {
		for _, m := range c.Members {
			if m.Fate == fateOpen {
				return false
			}
		}
	}
	return true
}

// wake is when there is something to do next.
func (p *movePlan) wake() (first time.Time) {
	for _, c := range p.calls {
		if len(c.open()) > 0 && (first.IsZero() || c.Due.Before(first)) {
			first = c.Due
		}
	}
	return first
}

// MoveProgress is how far a move has come.
type MoveProgress struct {
	Total      int      `json:"total"`
	Moved      int      `json:"moved"`
	InFlight   int      `json:"inFlight"`
	Waiting    int      `json:"waiting"`
	Failed     int      `json:"failed"`
	WaitingFor []string `json:"waitingFor,omitempty"` // regions that do not answer
}

func (p *movePlan) progress() (all MoveProgress) {
	silent := map[string]bool{}
	for _, c := range p.calls {
		for _, m := range c.Members {
			all.Total++
			switch {
			case m.Fate == fateMoved:
				all.Moved++
			case m.Fate != fateOpen:
				all.Failed++
			case c.Phase == moveUnsent:
				all.Waiting++
			default:
				all.InFlight++
			}
			if m.Fate == fateOpen && c.silent {
				silent[c.Region] = true
			}
		}
	}
	all.WaitingFor = slices.Sorted(maps.Keys(silent))
	return all
}

// toMove is a resource that a plan is made of.
type toMove struct {
	member                    MovingMember
	namespace, region, server string   // server tells the endpoints of a region apart
	versions                  []string // api-versions, newest first
	refusal                   string   // why it cannot move
}

// planMove puts together what goes to one endpoint in one call.
func planMove(all []toMove) (calls []*MovingCall) {
	type place struct{ namespace, region, server string }
	at, versions := map[place]*MovingCall{}, map[*MovingCall][]string{}
	refused := &MovingCall{}
	for _, r := range all {
		member := r.member
		if r.refusal != "" {
			member.Fate, member.Error = fateStayed, r.refusal
			refused.Members = append(refused.Members, &member)
			continue
		}
		to := place{r.namespace, r.region, r.server}
		c := at[to]
		if c == nil {
			c = &MovingCall{Namespace: r.namespace, Region: r.region}
			at[to], versions[c] = c, r.versions
			calls = append(calls, c)
		}
		c.Members = append(c.Members, &member)
		// The newest that all of them know, else that of the first.
		versions[c] = slices.DeleteFunc(slices.Clone(versions[c]), func(v string) bool { return !slices.Contains(r.versions, v) })
		if len(versions[c]) > 0 {
			c.Version = versions[c][0]
		}
	}
	slices.SortStableFunc(calls, func(a, b *MovingCall) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Region, b.Region))
	})
	if len(refused.Members) > 0 {
		calls = append(calls, refused)
	}
	return calls
}

// inventoryMember is a member as the inventory knows it.
func (c *MovingCall) inventoryMember(m *MovingMember) inventory.MoveMember {
	return inventory.MoveMember{Key: m.Key, Region: c.Region, Stray: m.Stray}
}
