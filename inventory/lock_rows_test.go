package inventory

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
)

// lockSpy notes, of an engine that would lock rows one by one, which rows of
// subscriptions and groups each transaction locks, in order.
type lockSpy struct {
	session
	orders [][]string
}

func (s *lockSpy) begin(ctx context.Context, d durability) (link, error) {
	l, err := s.session.begin(ctx, d)
	s.orders = append(s.orders, nil)
	return lockSpyLink{l, s}, err
}

type lockSpyLink struct {
	link
	spy *lockSpy
}

func (l lockSpyLink) note(statement string) {
	row := map[string]string{lockSubscription: "subscription", lockGroups: "all groups", lockGroup: "group", lockScope: "group"}[statement]
	if order := &l.spy.orders[len(l.spy.orders)-1]; row != "" && !slices.Contains(*order, row) {
		*order = append(*order, row)
	}
}

func (l lockSpyLink) lookUp(queries []lookup) error {
	for _, q := range queries {
		l.note(q.statement)
	}
	return l.link.lookUp(queries)
}

func (l lockSpyLink) one(statement string, args ...any) scanner {
	l.note(statement)
	return l.link.one(statement, args...)
}

func (l lockSpyLink) each(row func(scanner) error, statement string, args ...any) error {
	l.note(statement)
	return l.link.each(row, statement, args...)
}

// A subscription's own row is locked before all groups, and all groups before
// single ones, whatever shares the transaction: two replicas that lock in other
// orders wait for each other, until the engine ends one of them.
func TestRowsAreLockedInOneOrder(t *testing.T) {
	s := openTest(t, testOptions(t))
	makeGroup(t, s, "rg")
	lock := Lock{Subscription: "s", Scope: subscriptionScope("s")}
	keep := func(*Lock) (*Lock, error) { return &Lock{Name: "l", ScopeID: lock.Scope, Level: LockCanNotDelete}, nil }
	spy := &lockSpy{session: s.sessions[0]}
	lane := s.writer.lanes[0]
	lane.session, lane.dialect.locksRows = spy, true
	for _, c := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"tags of the subscription", func(ctx context.Context) error {
			_, err := s.EditSubscriptionTags(ctx, "s", Patch, func(tags map[string]string) (map[string]string, error) { return tags, nil })
			return err
		}},
		{"a tag's name", func(ctx context.Context) error { _, err := s.DefineTag(ctx, "s", "n", ""); return err }},
		{"its end", func(ctx context.Context) error { _, err := s.RemoveTag(ctx, "s", "n", ""); return err }},
		{"a lock", func(ctx context.Context) error {
			_, _, err := s.EditLock(ctx, "s", "", lock.Scope, "l", keep)
			return err
		}},
		{"what was before it", func(ctx context.Context) error { _, err := s.Outlast(ctx, "", lock); return err }},
		{"its deletion", func(ctx context.Context) error {
			return s.DeleteLock(ctx, "s", "", lock.Scope, "l", func(Lock) error { return nil })
		}},
		{"a feature", func(ctx context.Context) error { _, err := s.SetFeature(ctx, "s", "N/f", true, nil); return err }},
		{"a registration", func(ctx context.Context) error {
			_, err := s.Register(ctx, RegistrationChange{Subscription: "s", Namespace: "n"})
			return err
		}},
		{"a group", func(ctx context.Context) error {
			_, _, err := s.EditGroup(ctx, "s", "zz", func(*Group) (*Group, error) { return &Group{Location: "westus"}, nil })
			return err
		}},
	} {
		release, queued := blocked(t, s)
		spy.orders = nil
		var wait sync.WaitGroup
		for _, do := range []func(context.Context) error{
			c.do,
			func(ctx context.Context) error {
				_, err := s.Begin(ctx, vmWrite("rg", strings.ReplaceAll(c.name, " ", "")))
				return err
			},
		} {
			wait.Go(func() {
				if err := do(t.Context()); err != nil {
					t.Errorf("%s: %v", c.name, err)
				}
			})
		}
		queued(2)
		release()
		wait.Wait()
		// Begun before the orders were cleared, the one that blocked is not among them.
		if len(spy.orders) == 0 || !slices.Contains(spy.orders[0], "group") || len(spy.orders[0]) < 2 {
			t.Errorf("%s: they did not share a transaction: %v", c.name, spy.orders)
		}
		for _, order := range spy.orders {
			if !slices.IsSortedFunc(order, func(a, b string) int { return strings.Compare(rank(a), rank(b)) }) {
				t.Errorf("%s: locked in the order %v", c.name, order)
			}
		}
	}
}

func rank(row string) string {
	return map[string]string{"subscription": "1", "all groups": "2", "group": "3"}[row]
}
