package inventory

import (
	"errors"
	"testing"

	"portico/inventory/index"
	"portico/inventory/transaction"
)

// The checks of a move come in the contract's order: what has every fault is
// refused for the first of them, and for the next one when that is mended.
func TestMoveIsJudgedInOrder(t *testing.T) {
	source := Group{Subscription: "s", Key: "a", State: index.GroupMoving}
	target := Group{Subscription: "t", Key: "b", State: index.GroupDeleting}
	const key = "/subscriptions/s/resourcegroups/a/providers/n/t/x"
	lock := func(scope string) []Lock { return []Lock{{Scope: scope, Level: LockReadOnly}} }
	facts := moveFacts{
		source:  side{state: Disabled, locks: lock(key + "/u/y")},
		target:  side{state: Deleted, locks: lock("/subscriptions/t")},
		rows:    []Resource{{Key: key, Type: "n/t", Phase: index.Live}, {Key: key + "/u/y", Type: "n/t/u", Phase: index.Deleting}},
		taken:   map[string]bool{"/subscriptions/t/resourcegroups/b/providers/n/t/x": true},
		counted: map[string]int{"n/t": 2},
	}
	for i, step := range []struct {
		want   func(*MoveError) bool
		target bool
		mend   func()
	}{
		{refused[*SubscriptionStateError], false, func() { facts.source.state = Enabled }},
		{is(index.ErrGroupNotFound), false, func() { facts.source.group = &source }},
		{is(ErrSubscriptionNotFound), true, func() { facts.target.state = Enabled }},
		{is(index.ErrGroupNotFound), true, func() { facts.target.group = &target }},
		{refused[*transaction.QuotaError], true, func() { clear(facts.counted) }},
		{is(ErrTargetOccupied), true, func() { clear(facts.taken) }},
		{refused[*LockedError], false, func() { facts.source.locks = nil }},
		{refused[*LockedError], true, func() { facts.target.locks = nil }},
		{refused[*index.GroupStateError], false, func() { source.State = index.GroupActive }},
		{refused[*index.GroupStateError], true, func() { target.State = index.GroupActive }},
		{is(ErrNotFound), false, func() { facts.rows = append(facts.rows, Resource{Key: key + "2", Type: "n/t", Phase: index.Live}) }},
		{is(ErrChanged), false, func() { facts.rows[1].Phase = index.Live }},
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
