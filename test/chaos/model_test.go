package chaos

import (
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// The model of one resource: it is absent, or present in one region with the
// value of one PUT.
//
// A write with a definite answer takes effect at one moment between its call
// and its answer. A PUT's 201 says that there was nothing and a 200 that the
// resource was there, in that region; a refusal with InvalidResourceLocation,
// that it was in another. A DELETE's 200 says that there was something, 204
// that there was nothing.
//
// An asynchronous PUT that is answered with 200 or 201 is in effect when it is
// answered: the resource can be seen, in a state that is not final. One that is
// accepted with 202 takes effect at some moment between its call and the poll
// that shows its end: a new resource appears when the provider is done, an
// update may be seen at once. A DELETE accepted with 202 likewise; the resource
// can be seen until then. The 202 proves nothing about what was there: another
// DELETE may have been quicker. If the poll says that it failed or was overtaken by
// another write, it may or may not have taken effect by then.
//
// A write without a definite answer (none, a broken one, 408, 5xx) stays open,
// and so does one that was accepted and not seen to end: it took effect at some
// moment after its call, or never. It is left open for as long as anything may
// still be done for it, which is bounded: see landBound. That is stricter
// than leaving it open to the end of the history, and detects a write that is
// sent after its time.
//
// A group's delete removes what the group holds, at any moment between its call
// and its end, and again if a late write brings it back meanwhile. So it is no
// write of its own but a span of the history, from threatened to safe, in which
// the resource may vanish before any operation. If the delete was seen to succeed,
// the resource was absent at one moment within; it removes nothing later.
//
// The gateway's own 503 and its other refusals mean that nothing was sent: they
// are not part of the history, so an effect of one could not be explained.
//
// A PATCH changes only a tag, which is not modelled. Its answer, if definite,
// shows the resource like that of a GET.

// state is what the model knows of a resource.
type state struct {
	content
	deletions int // of its group, that are under way
}

// next returns the states that an operation may lead to; none if it is impossible
// in this state.
func (s state) next(o operation) []state {
	met := []content{s.content}
	if s.deletions > 0 && s.there() {
		met = append(met, content{})
	}
	switch o.Verdict {
	case threatened:
		s.deletions++
	case safe:
		s.deletions--
	}
	var all []state
	for _, current := range met {
		for _, c := range current.next(o) {
			all = append(all, state{c, s.deletions})
		}
	}
	return all
}

// next returns the contents that an operation may lead to from c.
func (c content) next(o operation) []content {
	there := c.there()
	written := content{o.Region, o.Value}
	var possible bool
	after := c
	switch o.Verdict {
	case open, overtaken:
		switch {
		case o.Verb == remove && there:
			return []content{c, {}}
		case o.Verb == put && (!there || c.region == o.Region):
			return []content{c, written}
		}
		possible = true
	case created:
		possible, after = !there, written
	case replaced:
		possible, after = there && c.region == o.Region, written
	case became:
		possible, after = !there || c.region == o.Region, written
	case elsewhere:
		possible = there && c.region != o.Region
	case removed:
		possible, after = there, content{}
	case wasAbsent, absent:
		possible = !there
	case vanished:
		possible, after = true, content{}
	case seen:
		possible = c == o.Seen
	case exists:
		possible = there
	case nothing, threatened, safe:
		possible = true
	}
	if !possible {
		return nil
	}
	return []content{after}
}

// resourceModel wraps next for the checker.
func resourceModel() porcupine.Model {
	model := porcupine.NondeterministicModel{
		Init: func() []any { return []any{state{}} },
		Step: func(current, input, _ any) []any {
			var states []any
			for _, s := range current.(state).next(input.(operation)) {
				states = append(states, s)
			}
			return states
		},
		Hash:              func(s any) uint64 { return uint64(s.(state).value)<<8 + uint64(s.(state).deletions) },
		DescribeOperation: func(input, _ any) string { return input.(operation).String() },
		DescribeState: func(current any) string {
			s := current.(state)
			return s.content.String() + strings.Repeat(" (being deleted)", s.deletions)
		},
	}
	return model.ToModel()
}

// checkable converts operations for the checker, without those that prove nothing.
func checkable(operations []operation) []porcupine.Operation {
	var checked []porcupine.Operation
	for _, o := range operations {
		if o.Verdict == nothing || o.Verdict == open && !o.Verb.writes() || o.Verdict == open && o.Verb == patch {
			continue
		}
		checked = append(checked, porcupine.Operation{
			ClientId: o.Client, Input: o, Call: int64(o.Call), Return: int64(max(o.Return, o.Call)),
		})
	}
	return checked
}

// linearizable checks one resource's operations within a time limit. It returns
// porcupine.Unknown if the limit has passed.
func linearizable(operations []operation, within time.Duration) porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(resourceModel(), checkable(operations), within)
}

// stuck returns the first return at which the operations called so far are no
// longer linearizable, 0 if the time limit passes.
func stuck(operations []operation, within time.Duration) time.Duration {
	var ends []time.Duration
	for _, o := range operations {
		if o.Verdict != nothing && o.Verdict != open {
			ends = append(ends, o.Return)
		}
	}
	slices.Sort(ends)
	deadline := time.Now().Add(within)
	found, _ := slices.BinarySearchFunc(ends, 0, func(end, _ time.Duration) int {
		if time.Now().Before(deadline) && linearizable(until(operations, end), time.Until(deadline)) == porcupine.Ok {
			return -1
		}
		return 1
	})
	if found == len(ends) || !time.Now().Before(deadline) {
		return 0
	}
	return ends[found]
}

// until returns the operations called before a moment; those that had not returned
// by then are open.
func until(operations []operation, end time.Duration) []operation {
	var some []operation
	for _, o := range operations {
		switch {
		case o.Call > end:
			continue
		case o.Return > end && !o.Verb.writes():
			continue
		case o.Return > end:
			o.Verdict = open
		}
		some = append(some, o)
	}
	return some
}
