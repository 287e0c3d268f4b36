package inventory

import (
	"errors"
	"testing"
)

// The checks of a move come in the contract's order: what has every fault is
// refused for the first of them, and for the next one when that is mended.
func TestMoveIsJudgedInOrder(t *testing.T) {
	source := Group{Subscription: "s", Key: "a", State: GroupMoving}
	target := Group{Subscription: "t", Key: "b", State: GroupDeleting}
	const key = "/subscriptions/s/resourcegroups/a/providers/n/t/x"
	lock := func(scope string) []Lock { return []Lock{{Scope: scope, Level: LockReadOnly}} }
	facts := moveFacts{
		source:  side{state: Disabled, locks: lock(key + "/u/y")},
		target:  side{state: Deleted, locks: lock("/subscriptions/t")},
		rows:    []Resource{{Key: key, Type: "n/t", Phase: Live}, {Key: key + "/u/y", Type: "n/t/u", Phase: Deleting}},
		taken:   map[string]bool{"/subscriptions/t/resourcegroups/b/providers/n/t/x": true},
		counted: map[string]int{"n/t": 2},
	}
	for i, step := range []struct {
		want   func(*MoveError) bool
		target bool
		mend   func()
	}{
		{refused[*SubscriptionStateError], false, func() { facts.source.state = Enabled }},
		{is(ErrGroupNotFound), false, func() { facts.source.group = &source }},
		{is(ErrSubscriptionNotFound), true, func() { facts.target.state = Enabled }},
		{is(ErrGroupNotFound), true, func() { facts.target.group = &target }},
		{refused[*QuotaError], true, func() { clear(facts.counted) }},
		{is(ErrTaken), true, func() { clear(facts.taken) }},
		{refused[*LockedError], false, func() { facts.source.locks = nil }},
		{refused[*LockedError], true, func() { facts.target.locks = nil }},
		{refused[*GroupStateError], false, func() { source.State = GroupActive }},
		{refused[*GroupStateError], true, func() { target.State = GroupActive }},
		{is(ErrNotFound), false, func() { facts.rows = append(facts.rows, Resource{Key: key + "2", Type: "n/t", Phase: Live}) }},
		{is(ErrChanged), false, func() { facts.rows[1].Phase = Live }},
	} {
		err := facts.judge([]string{key, key + "2"}, 2)
		var refusal *MoveError
		if !errors.As(err, &refusal) || !step.want(refusal) || refusal.Target != step.target {
			t.Errorf("%d: %v", i, err)
		}
		step.mend()
	}
	if err := facts.judge([]string{key, key + "2"}, 2); err != nil {
		t.Error(err)
	}
}

func is(want error) func(*MoveError) bool {
	return func(err *MoveError) bool { return errors.Is(err, want) }
}

func refused[E error](err *MoveError) bool {
	var want E
	return errors.As(err, &want)
}
