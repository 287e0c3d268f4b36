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
// that tells of its end: a new resource appears when the provider is done, an
// update may be seen at once. A DELETE accepted with 202 likewise; the resource
// can be seen until then. It says nothing of what was there, as another DELETE
// may have been quicker. If the poll says that it failed or was overtaken by
// another write, it may or may not have taken effect by then.
//
// A write without a definite answer (none, a broken one, 408, 5xx) stays open,
// and so does one that was accepted and not seen to end: it took effect at some
// moment after its call, or never. It is left open for as long as anything may
// still be done for it, which is bounded: see landBound. That is stricter
// than leaving it open to the end of the history: what is linearizable with
// the bound is so without it, and a write that is sent after its time is
// found out.
//
// A group's delete removes what the group holds, at any moment between its call
// and its end, and again if a late write brings it back meanwhile. So it is no
// write of its own but a span of the history, from threatened to safe, in which
// what is there may go before any operation. Where it was seen to succeed, the
// resource was gone at one moment within; nothing that it did can come later.
//
// The gateway's own 503 says that nothing was sent, and so do its other
// refusals: they are not part of the history, and if one of them had an effect,
// that would have no explanation.
//
// A PATCH changes only what is not modelled (a tag). Its answer, where it is
// definite, shows the resource like that of a GET.

// state is what the model knows of a resource.
type state struct {
	content
	deletions int // of its group, that are under way
}

// next gives the states that may come of an operation. None: it cannot have met
// with this one.
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

// next gives the contents that may be there after an operation that met with c.
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

// resourceModel is next as the checker wants it.
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

// checkable turns operations into the checker's, less those that say nothing.
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

// linearizable judges one resource's operations within a bound of time. An
// answer of porcupine.Unknown means that the bound has passed.
func linearizable(operations []operation, within time.Duration) porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(resourceModel(), checkable(operations), within)
}

// stuck finds the moment up to which the operations, which are not
// linearizable, can be explained: the first of their returns at which those
// that had been called by then no longer can. It is 0 when the bound passes.
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

// until is what had been called before a moment; what had not returned by then
// is open.
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
