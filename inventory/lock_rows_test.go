package inventory

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"portico/access/roles"
	"portico/inventory/assignments"
	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/inventory/tagindex"
)

// lockSpy notes, of an engine that would lock rows one by one, which rows of
// subscriptions and groups each transaction locks, in order.
type lockSpy struct {
	engine.Session
	orders [][]string
}

func (s *lockSpy) Begin(ctx context.Context, d engine.Durability) (engine.Conn, error) {
	c, err := s.Session.Begin(ctx, d)
	s.orders = append(s.orders, nil)
	return lockSpyConn{c, s}, err
}

type lockSpyConn struct {
	engine.Conn
	spy *lockSpy
}

func (c lockSpyConn) LocksRows() bool { return true }

func (c lockSpyConn) note(statement string) {
	row := map[string]string{lockSubscription: "subscription", lockGroups: "all groups", lockGroup: "group", lockGroupScope: "group"}[statement]
	if order := &c.spy.orders[len(c.spy.orders)-1]; row != "" && !slices.Contains(*order, row) {
		*order = append(*order, row)
	}
}

func (c lockSpyConn) LookUp(queries []engine.Lookup) error {
	for _, q := range queries {
		c.note(q.Statement)
	}
	return c.Conn.LookUp(queries)
}

func (c lockSpyConn) One(statement string, args ...any) engine.Scanner {
	c.note(statement)
	return c.Conn.One(statement, args...)
}

func (c lockSpyConn) Each(row func(engine.Scanner) error, statement string, args ...any) error {
	c.note(statement)
	return c.Conn.Each(row, statement, args...)
}

// A subscription's own row is locked before all groups, and all groups before
// single ones, whatever shares the transaction: two replicas that lock in other
// orders wait for each other, until the engine ends one of them.
func TestRowsAreLockedInOneOrder(t *testing.T) {
	s := openTest(t, testOptions(t))
	makeGroup(t, s, "rg")
	lock := Lock{Subscription: "s", Scope: subscriptionScope("s")}
	anyTag := func(tagindex.Name) error { return nil }
	keep := func(*Lock) (*Lock, error) { return &Lock{Name: "l", ScopeID: lock.Scope, Level: LockCanNotDelete}, nil }
	spy := &lockSpy{}
	s.engine.Intercept(func(session engine.Session) engine.Session {
		spy.Session = session
		return spy
	})
	for _, c := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"tags of the subscription", func(ctx context.Context) error {
			_, err := s.EditSubscriptionTags(ctx, "s", index.Patch, func(tags map[string]string) (map[string]string, error) { return tags, nil }, nil)
			return err
		}},
		{"a tag's name", func(ctx context.Context) error {
			_, _, err := s.Tags.Define(ctx, "s", "n", "", anyTag, nil)
			return err
		}},
		{"its end", func(ctx context.Context) error { _, err := s.Tags.Remove(ctx, "s", "n", "", anyTag); return err }},
		{"a lock", func(ctx context.Context) error {
			_, _, err := s.Locks.Edit(ctx, "s", "", lock.Scope, "l", keep)
			return err
		}},
		{"what was before it", func(ctx context.Context) error { _, err := s.Locks.WaitForConflictingWrites(ctx, "", lock); return err }},
		{"its deletion", func(ctx context.Context) error {
			return s.Locks.Delete(ctx, "s", "", lock.Scope, "l", func(Lock) error { return nil })
		}},
		{"a role", func(ctx context.Context) error { return assignTest(ctx, s, "", lock.Scope) }},
		{"a role in a group", func(ctx context.Context) error { return assignTest(ctx, s, "rg", groupScope("s", "rg")) }},
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

// assignTest gives somebody a role at a scope, by one name for all.
func assignTest(ctx context.Context, s *Store, group, scope string) error {
	at := assignments.Scope{TenantID: "t", Subscription: "s", Group: group, ID: scope}
	_, _, err := s.Roles.PutAssignment(ctx, at, "name of "+group, func(*assignments.Assignment) (*assignments.Assignment, error) {
		return &assignments.Assignment{ScopeID: scope, PrincipalID: "p", RoleDefinition: roles.Reader}, nil
	})
	return err
}
