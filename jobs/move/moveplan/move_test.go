package moveplan

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const (
	moveWindow = 30 * time.Second
	moveCall   = 10 * time.Second // within which a call is over
)

// moveWorld is providers that are told to move resources, the index, and a clock.
// A call may do what it was told at any time until it is over, in part or not at
// all; questions are answered at once, or not.
type moveWorld struct {
	*rapid.T
	now     time.Time
	limits  Limits
	plan    *Move
	stored  []byte            // the plan as it was recorded
	at      map[string]string // where the provider has a resource: old, new, both, none
	indexed map[string]string
	landing map[int][]landing // by call: what may still happen
	running map[int]*operationOf
	sends   int
}

// landing is what a call will do, or show.
type landing struct {
	at   time.Time
	keys []string
}

// operationOf is an operation that a call began.
type operationOf struct {
	ends        time.Time
	fails, lost bool
	claims      []string // nothing happens to these before it claims to have moved them
}

func newMoveWorld(t *rapid.T) *moveWorld {
	w := &moveWorld{
		T: t, now: time.Unix(1_000_000, 0).UTC(), at: map[string]string{}, indexed: map[string]string{},
		landing: map[int][]landing{}, running: map[int]*operationOf{},
		limits: Limits{Budget: 2 * time.Minute, Pause: time.Second, Longest: 20 * time.Second, Window: moveWindow},
	}
	var all []Candidate
	for i := range rapid.IntRange(1, 7).Draw(t, "resources") {
		key := fmt.Sprintf("r%d", i)
		region := rapid.SampledFrom([]string{"westus", "eastus"}).Draw(t, "region")
		r := Candidate{Resource: Resource{ID: key, Key: key, Type: "N/t"}, Namespace: "N", Region: region, Versions: []string{"1"}}
		if rapid.IntRange(0, 9).Draw(t, "cannot") == 0 {
			r.Refusal = "no"
		}
		all, w.at[key], w.indexed[key] = append(all, r), "old", "old"
	}
	w.plan = &Move{Limits: w.limits, Calls: CallsFor(all)}
	w.record()
	return w
}

func (w *moveWorld) record() {
	text, err := json.Marshal(w.plan.Calls)
	if err != nil {
		w.Fatal(err)
	}
	w.stored = text
}

// die has another go on with what was recorded.
func (w *moveWorld) die() {
	w.plan = &Move{Limits: w.limits}
	if err := json.Unmarshal(w.stored, &w.plan.Calls); err != nil {
		w.Fatal(err)
	}
}

func (w *moveWorld) luck(of int, what string) bool { return rapid.IntRange(1, of).Draw(w.T, what) == 1 }

// pass lets time pass, and happen what is due.
func (w *moveWorld) pass(until time.Time) {
	w.now = until
	for i, all := range w.landing {
		var later []landing
		for _, l := range all {
			if l.at.After(w.now) {
				later = append(later, l)
				continue
			}
			for _, key := range l.keys {
				if w.at[key] == "old" || w.at[key] == "hidden" {
					w.at[key] = "new"
				}
			}
		}
		w.landing[i] = later
	}
}

// works tells whether the operation of a call runs, which its resources show by
// their provisioning state.
func (w *moveWorld) works(i int) bool { return w.running[i] != nil && w.now.Before(w.running[i].ends) }

func (w *moveWorld) some(keys []string) (few []string) {
	for _, key := range keys {
		if rapid.Bool().Draw(w.T, "some") {
			few = append(few, key)
		}
	}
	return few
}

// send is a call.
func (w *moveWorld) send(i int, c *Call) {
	if len(w.landing[i]) > 0 || w.works(i) {
		w.Fatalf("call %d is sent again while an earlier one may take effect", i)
	}
	w.sends++
	var keys []string
	for _, m := range c.Open() {
		keys = append(keys, m.Key)
	}
	c.Sent(w.now.Add(moveCall + moveWindow))
	w.record()
	if w.luck(12, "dies before it sends") {
		w.die()
		return
	}
	lands := func(at time.Duration, keys []string) {
		w.landing[i] = append(w.landing[i], landing{w.now.Add(at), keys})
	}
	var result Result
	switch rapid.IntRange(0, 9).Draw(w.T, "answer") {
	case 0, 1:
		w.claim(i, keys)
		result.Outcome = OutcomeMoved
	case 2, 3: // an operation
		o := &operationOf{ends: w.now.Add(time.Duration(rapid.IntRange(0, 90).Draw(w.T, "takes")) * time.Second)}
		o.fails, o.lost = w.luck(3, "fails"), w.luck(6, "lost")
		if w.running[i] = o; o.fails {
			keys = w.some(keys)
		}
		if o.lost { // whoever forgets an operation still ends it in time
			o.ends = w.now.Add(time.Duration(rapid.IntRange(0, 1).Draw(w.T, "at last")) * time.Second)
		}
		if !o.fails && !o.lost && w.luck(2, "claims") {
			o.claims = keys
		} else {
			lands(o.ends.Sub(w.now), keys)
		}
		result = Result{Outcome: OutcomeAccepted, Poll: &Poll{Path: "/p"}}
	case 4:
		lands(time.Duration(rapid.IntRange(0, 29).Draw(w.T, "without a word"))*time.Second, keys)
		result.Outcome = OutcomeAccepted
	case 5:
		lands(0, w.some(keys))
		result = Result{Outcome: OutcomeRefused, Text: "refused"}
	case 6:
		result = Result{Outcome: OutcomeThrottled, After: time.Duration(rapid.IntRange(0, 40).Draw(w.T, "pause")) * time.Second, Text: "slow down"}
	case 7:
		result = Result{Outcome: OutcomeNotSent, Unreachable: true}
	default:
		if w.luck(2, "lands") {
			if w.luck(2, "in part") {
				keys = w.some(keys)
			}
			lands(time.Duration(rapid.IntRange(0, 39).Draw(w.T, "late"))*time.Second, keys)
		}
		result = Result{Outcome: OutcomeAmbiguous, Text: "what?"}
	}
	w.pass(w.now.Add(time.Duration(rapid.IntRange(0, 9000).Draw(w.T, "answers after")) * time.Millisecond))
	if w.luck(10, "dies before it hears") {
		w.die()
		return
	}
	w.plan.OnResult(c, result, w.now)
	if !w.luck(10, "dies before it records") {
		w.record()
	} else {
		w.die()
	}
}

// claim does what a provider may do that says it has moved everything: not all of it has
// moved, some has gone, and some shows at its new place only later.
func (w *moveWorld) claim(i int, keys []string) {
	for _, key := range keys {
		switch rapid.IntRange(0, 9).Draw(w.T, "claimed") {
		case 0:
		case 1:
			w.at[key] = "none"
		case 2:
			w.at[key] = "hidden"
			late := w.now.Add(time.Duration(rapid.IntRange(0, 20).Draw(w.T, "shows after")) * time.Second)
			w.landing[i] = append(w.landing[i], landing{late, []string{key}})
		default:
			w.at[key] = "new"
		}
	}
}

func (w *moveWorld) poll(i int, c *Call) {
	o := w.running[i]
	switch {
	case w.luck(8, "no answer"):
		w.plan.OnResult(c, Result{Outcome: OutcomeNotSent}, w.now)
	case o.lost:
		w.plan.OnResult(c, Result{Outcome: OutcomeLost}, w.now)
	case w.now.Before(o.ends):
		w.plan.OnResult(c, Result{Outcome: OutcomeAccepted}, w.now)
	case o.fails:
		w.plan.OnResult(c, Result{Outcome: OutcomeRefused, Text: "failed"}, w.now)
	default:
		w.claim(i, o.claims)
		o.claims = nil
		w.plan.OnResult(c, Result{Outcome: OutcomeOver}, w.now)
	}
}

func (w *moveWorld) ask(i int, c *Call) {
	probed := w.now
	for _, m := range c.Open() {
		sight := Presence{Known: !w.luck(8, "no word"), Old: w.at[m.Key] == "old", New: w.at[m.Key] == "new"}
		sight.Working = w.works(i) || w.luck(10, "busy")
		c.Observe(m, sight, probed)
		if w.luck(10, "a slow question") {
			w.pass(w.now.Add(time.Second))
		}
	}
	w.plan.Conclude(c, true, w.now)
}

// settle records what became of resources, some at a time.
func (w *moveWorld) settle() bool {
	for _, c := range w.plan.Calls {
		for _, m := range c.Resources {
			if m.State != Open || m.Decided == Open {
				continue
			}
			if w.luck(12, "dies before it settles") {
				w.die()
				return false
			}
			m.State = m.Decided
			w.indexed[m.Key] = map[State]string{Moved: "new", Stayed: "old", Gone: "none"}[m.State]
			w.record()
		}
	}
	return true
}

// Whatever providers answer, whenever what they were told takes effect, and
// wherever the one who tells them dies: in the end the index has each resource
// where its provider has it, and nothing that was sent can change that any more.
func TestMovesComeToTheTruth(t *testing.T) {
	sends, moved := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		w := newMoveWorld(t)
		limit := w.now.Add(time.Duration(rapid.IntRange(20, 600).Draw(t, "limit")) * time.Second)
		for step := 0; !w.plan.Ended(); step++ {
			if step > 5000 {
				t.Fatalf("no end: %s", w.stored)
			}
			if w.now.After(limit) {
				w.plan.Stop("over")
			}
			for _, task := range w.plan.Next(w.now) {
				i := indexOfCall(w.plan, task.Call)
				if i < 0 {
					break // it died meanwhile
				}
				switch task.Action {
				case ActionSend:
					w.send(i, task.Call)
				case ActionPoll:
					w.poll(i, task.Call)
				case ActionProbe:
					w.ask(i, task.Call)
				}
				if w.luck(15, "dies") {
					w.die()
				}
			}
			if !w.settle() || w.plan.Ended() {
				continue
			}
			w.record()
			if wake := w.plan.Wake(); wake.After(w.now) {
				w.pass(wake)
			}
		}
		w.pass(w.now.Add(time.Hour))
		for key, at := range w.at {
			if w.indexed[key] != at {
				t.Fatalf("%s is %s at its provider, %s in the index", key, at, w.indexed[key])
			}
			if at == "new" {
				moved++
			}
		}
		sends += w.sends
	})
	if sends == 0 || moved == 0 {
		t.Error("nothing was sent, or nothing moved")
	}
}

func indexOfCall(p *Move, c *Call) int {
	for i, known := range p.Calls {
		if known == c {
			return i
		}
	}
	return -1
}

func TestOneCallPerProviderAndRegion(t *testing.T) {
	var all []Candidate
	for i, r := range []struct{ namespace, region, server, versions string }{
		{"B", "east", "x", "21"}, {"A", "west", "x", "321"}, {"A", "west", "x", "21"}, {"A", "west", "y", "3"}, {"A", "east", "x", "1"}, {"A", "west", "x", "1"},
	} {
		var versions []string
		for _, v := range r.versions {
			versions = append(versions, string(v))
		}
		all = append(all, Candidate{Resource: Resource{Key: fmt.Sprint(i)}, Namespace: r.namespace, Region: r.region, Server: r.server, Versions: versions})
	}
	var got []string
	for _, c := range CallsFor(all) {
		text := c.Namespace + "/" + c.Region + " " + c.Version + ":"
		for _, m := range c.Resources {
			text += m.Key
		}
		got = append(got, text)
	}
	if want := "[A/east 1:4 A/west 1:125 A/west 3:3 B/east 2:0]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %v", got, want)
	}
}
