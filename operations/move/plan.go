package move

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"portico/inventory"
	"portico/jobs"
)

// phase is how far a call has come. The numbers are stored.
type phase uint8

const (
	phaseUnsent  phase = iota // to be sent when it is due; nothing of it can be on its way
	phaseOpen                 // it was sent, and its outcome is asked for
	phaseRunning              // it was accepted, and its operation is followed
)

// fate is what became of a resource that was to move. The numbers are stored.
type fate uint8

const (
	fateOpen fate = iota
	fateMoved
	fateStayed
	fateGone
)

// Member is a resource that is to move.
type Member struct {
	ID    string `json:"id"`
	Key   string `json:"key"`
	Type  string `json:"type"` // as declared
	Stray bool   `json:"stray,omitempty"`
	Fate  fate   `json:"fate,omitempty"`  // as the inventory has it
	Error string `json:"error,omitempty"` // why it stays, if its call does not say

	decided fate                // the fate that is to be recorded
	stands  bool                // it was just seen where it was
	twin    *inventory.Sighting // it was just seen at its new place as well
}

// Call has one provider move all that it holds in one region.
type Call struct {
	Namespace string    `json:"namespace"`
	Region    string    `json:"region"`
	Version   string    `json:"version"` // api-version
	Members   []*Member `json:"members"`
	Phase     phase     `json:"phase,omitempty"`
	Due       time.Time `json:"due,omitzero"` // nothing is to be done before
	// Ends is from when on nothing that was sent can take effect any more.
	Ends  time.Time `json:"ends,omitzero"`
	Since time.Time `json:"since,omitzero"` // of the first of the failures that count against its budget
	Tries int       `json:"tries,omitempty"`
	Final bool      `json:"final,omitempty"` // it is not sent again
	Poll  *Poll     `json:"poll,omitempty"`
	Error string    `json:"error,omitempty"` // the provider's latest words

	unreachable bool // its region does not answer
}

// Poll is where the operation of a call is followed.
type Poll struct {
	Path   string `json:"path"`
	Query  string `json:"query,omitempty"`
	Status bool   `json:"status,omitempty"` // as in inventory.Poll
}

// open are the members whose fate is not known.
func (c *Call) open() (members []*Member) {
	for _, m := range c.Members {
		if m.Fate == fateOpen && m.decided == fateOpen {
			members = append(members, m)
		}
	}
	return members
}

// planLimits bound a move.
type planLimits struct {
	budget, pause, longest time.Duration // for a call's passing failures; before it is tried again
	window                 time.Duration // in which what was accepted without a URL, or lost, may take effect
}

// plan says what becomes of resources that move. It is pure: it neither calls nor reads a
// clock, and goes on from what was recorded of it at any time.
//
// Each call is sent once. What its answer, or the lack of one, leaves open is asked for
// under both IDs of each resource. A resource that is seen at its new place alone has
// moved; one that is seen at its old place alone has stayed, once the call cannot take
// effect any more; only then may it be sent again, for what has stayed.
type plan struct {
	limits planLimits
	calls  []*Call
}

// step is what a call is to do next.
type step uint8

const (
	stepSend step = iota
	stepPoll
	stepAsk
)

type task struct {
	call *Call
	step step
}

// next lists what is to be done now.
func (p *plan) next(now time.Time) (tasks []task) {
	for _, c := range p.calls {
		if c.Due.After(now) || len(c.open()) == 0 {
			continue
		}
		step := stepSend
		switch c.Phase {
		case phaseOpen:
			step = stepAsk
		case phaseRunning:
			step = stepPoll
		case phaseUnsent:
		}
		tasks = append(tasks, task{c, step})
	}
	return tasks
}

// sent marks a call as about to be sent; it cannot take effect after ends.
func (c *Call) sent(ends time.Time) {
	c.Phase, c.Ends, c.Poll, c.Error, c.Due, c.unreachable = phaseOpen, ends, nil, "", time.Time{}, false
}

// outcome is what a call, or a poll of its operation, came to.
type outcome uint8

const (
	outcomeMoved     outcome = iota // all has moved
	outcomeAccepted                 // the provider works on it, also still
	outcomeOver                     // its operation has ended; what it did is to be seen
	outcomeRefused                  // nothing more will come of it; what it did is to be seen
	outcomeThrottled                // not now
	outcomeAmbiguous                // nobody knows
	outcomeNotSent                  // no byte of it has left, or the poll said nothing
	outcomeLost                     // its operation is not known any more
)

var outcomes = [...]string{"moved", "accepted", "over", "refused", "throttled", "ambiguous", "unsent", "lost"}

func (o outcome) String() string { return outcomes[o] }

type callResult struct {
	outcome     outcome
	after       time.Duration // the pause that the answer asked for
	poll        *Poll         // of an acceptance, nil for none or the same
	text        string        // of a failure
	unreachable bool          // its region does not answer
}

// onResult takes what a call, or a poll, came to.
func (p *plan) onResult(c *Call, s callResult, now time.Time) {
	polled := c.Phase == phaseRunning
	c.unreachable = s.unreachable
	if s.text != "" {
		c.Error = s.text
	}
	switch s.outcome {
	case outcomeMoved:
		for _, m := range c.open() {
			m.decided = fateMoved
		}
	case outcomeAccepted:
		p.accept(c, s, now, polled)
	case outcomeOver, outcomeRefused:
		c.Phase, c.Final, c.Ends, c.Due = phaseOpen, true, now, now
	case outcomeLost:
		c.Phase, c.Final, c.Ends, c.Due = phaseOpen, true, now.Add(p.limits.window), now
	case outcomeThrottled:
		if p.fails(c, s.after, now) {
			c.Phase = phaseUnsent
			return
		}
		c.Phase, c.Final, c.Ends, c.Due = phaseOpen, true, now, now
	case outcomeAmbiguous:
		p.fails(c, s.after, now)
		c.Phase, c.Due = phaseOpen, now
	case outcomeNotSent:
		c.Tries++
		c.Due = now.Add(p.pauseOf(c, s.after))
		if !polled {
			c.Phase = phaseUnsent
		}
	}
}

func (p *plan) accept(c *Call, s callResult, now time.Time, polled bool) {
	if s.poll != nil {
		c.Poll = s.poll
	}
	c.Tries = 0
	c.Due = now.Add(max(s.after, p.limits.pause))
	if c.Phase = phaseRunning; c.Poll == nil && !polled {
		c.Phase, c.Ends = phaseOpen, now.Add(p.limits.window)
	}
}

// fails counts a failure and has the call wait. It reports whether the budget lasts.
func (p *plan) fails(c *Call, after time.Duration, now time.Time) bool {
	if c.Since.IsZero() {
		c.Since = now
	}
	c.Tries++
	c.Due = now.Add(p.pauseOf(c, after))
	return p.lasts(c, c.Due)
}

func (p *plan) lasts(c *Call, at time.Time) bool {
	return c.Since.IsZero() || at.Before(c.Since.Add(p.limits.budget))
}

func (p *plan) pauseOf(c *Call, asked time.Duration) time.Duration {
	return max(asked, jobs.Backoff(p.limits.pause, max(p.limits.longest, p.limits.pause), c.Tries))
}

// presence is where a member was seen.
type presence struct {
	known    bool // both places have said whether they hold it
	old, new bool
	working  bool // something is still being done to it
}

// observe takes where a member of an open call was seen, by questions that began at a
// time.
func (c *Call) observe(m *Member, s presence, asked time.Time) {
	over := !asked.Before(c.Ends)
	switch {
	case !s.known || m.decided != fateOpen:
	case s.new && !s.old:
		m.decided = fateMoved
	case !over || s.working:
	case s.old:
		m.stands = true
	default:
		m.decided = fateGone
	}
}

// conclude decides what comes after all open members of a call were asked for. answered:
// their region gave an answer.
func (p *plan) conclude(c *Call, answered bool, now time.Time) {
	c.unreachable = !answered
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
		c.Phase, c.Due = phaseUnsent, now.Add(p.limits.pause)
	default:
		for _, m := range open {
			m.decided = fateStayed
		}
	}
}

// stop ends the sending of calls. What was not sent stays, for the reason given.
func (p *plan) stop(reason string) {
	for _, c := range p.calls {
		c.Final = true
		if c.Phase != phaseUnsent {
			continue
		}
		for _, m := range c.open() {
			m.decided = fateStayed
			if c.Error == "" {
				m.Error = reason
			}
		}
	}
}

// ended reports whether the fate of everything is recorded.
func (p *plan) ended() bool {
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
func (p *plan) wake() (first time.Time) {
	for _, c := range p.calls {
		if len(c.open()) > 0 && (first.IsZero() || c.Due.Before(first)) {
			first = c.Due
		}
	}
	return first
}

// Progress is how far a move has come.
type Progress struct {
	Total      int      `json:"total"`
	Moved      int      `json:"moved"`
	InFlight   int      `json:"inFlight"`
	Waiting    int      `json:"waiting"`
	Failed     int      `json:"failed"`
	WaitingFor []string `json:"waitingFor,omitempty"` // regions that do not answer
}

func (p *plan) progress() (all Progress) {
	unreachable := map[string]bool{}
	for _, c := range p.calls {
		for _, m := range c.Members {
			all.Total++
			switch {
			case m.Fate == fateMoved:
				all.Moved++
			case m.Fate != fateOpen:
				all.Failed++
			case c.Phase == phaseUnsent:
				all.Waiting++
			default:
				all.InFlight++
			}
			if m.Fate == fateOpen && c.unreachable {
				unreachable[c.Region] = true
			}
		}
	}
	all.WaitingFor = slices.Sorted(maps.Keys(unreachable))
	return all
}

// candidate is a resource that is to move.
type candidate struct {
	member                    Member
	namespace, region, server string   // server: the endpoint, within its region
	versions                  []string // api-versions, newest first
	refusal                   string   // why it cannot move
}

// planCalls puts together what goes to one endpoint in one call.
func planCalls(all []candidate) (calls []*Call) {
	type place struct{ namespace, region, server string }
	at, versions := map[place]*Call{}, map[*Call][]string{}
	refused := &Call{}
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
			c = &Call{Namespace: r.namespace, Region: r.region}
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
	slices.SortStableFunc(calls, func(a, b *Call) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Region, b.Region))
	})
	if len(refused.Members) > 0 {
		calls = append(calls, refused)
	}
	return calls
}

// inventoryMember is a member as the inventory knows it.
func (c *Call) inventoryMember(m *Member) inventory.MoveMember {
	return inventory.MoveMember{Key: m.Key, Region: c.Region, Stray: m.Stray}
}
