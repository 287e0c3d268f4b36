package routing

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"portico/access"
	"portico/arm"
	"portico/inventory"
	"portico/inventory/index"
	"portico/regions"
)

// Scopes is the part of Index that the cache may answer for reads, and for writes whose
// intent's transaction checks the scopes again: remembered reports that it did. The
// cache is at most moments behind the store; now is when the request arrived. Absence is
// inventory.ErrNotFound, and comes from the store.
type Scopes interface {
	Subscription(ctx context.Context, id string, now time.Time) (s inventory.Subscription, remembered bool, err error)
	Group(ctx context.Context, subscription, name string, now time.Time) (g inventory.Group, remembered bool, err error)
	Registration(ctx context.Context, subscription, namespace string, now time.Time) (r inventory.Registration, remembered bool, err error)
	// Target is like [Index].Target; everything but the row comes from the
	// cache, or nothing.
	Target(ctx context.Context, q inventory.TargetQuery, now time.Time) (t inventory.Target, remembered bool, err error)
}

// scopes reads the scopes of one request.
type scopes struct {
	*Router
	// memory permits answers from the cache; otherwise the store answers.
	memory   bool
	received time.Time
	noGroup  bool // the store has reported that there is no group
	// target is the answer to one combined query; nil if everything is read one by one.
	question inventory.TargetQuery
	target   *inventory.Target
}

// prefetch reads everything in the path with one query. Reads use the cache
// one by one, because it answers most of them.
func (s *scopes) prefetch(ctx context.Context, r *Request, d *Decision) error {
	s.question = inventory.TargetQuery{Subscription: r.Path.Subscription()}
	if s.question.Subscription == "" || s.memory && r.Reads() {
		return nil
	}
	if !r.editsGroup() {
		s.question.Group = r.Path.Group()
	}
	if r.Provider != nil && r.Provider.Registration == regions.Required && (!r.Reads() || r.Class == Collection) {
		s.question.Namespace = r.Provider.Key
	}
	if !r.Reads() {
		s.question.Key = r.rowKey()
		s.question.Locks, s.question.LockGroup = true, r.Path.Group()
	}
	var target inventory.Target
	var err error
	if s.memory {
		target, d.Memory.Scopes, err = s.Scopes.Target(ctx, s.question, s.received)
	} else {
		target, err = s.Index.Target(ctx, s.question)
	}
	if err != nil {
		return fmt.Errorf("read what a request names: %w", err)
	}
	s.target, d.Locks = &target, target.Locks
	return nil
}

// rowKey returns the key of the tracked resource that determines a write's
// endpoint, if the path alone determines it: the resource in the path, or the
// nearest tracked one above it.
func (r *Request) rowKey() string {
	if r.Class != Instance && r.Class != Below || r.Provider == nil {
		return ""
	}
	hop := r.Path.LastHop()
	for n := hop.Len() &^ 1; n >= 2; n -= 2 {
		switch t := typeOf(r.Provider, hop, n/2); {
		case t == nil || t.Kind == regions.Extension:
			return ""
		case t.Kind == regions.Tracked:
			return arm.Fold(r.Path.Prefix(hop.Start() + 2 + n))
		}
	}
	return ""
}

// row reads the row of a tracked resource from the store.
func (s *scopes) row(ctx context.Context, subscription, key string) (inventory.Resource, error) {
	if s.target != nil && s.question.Key == key {
		return valueOrNotFound(s.target.Row)
	}
	return s.Index.Resource(ctx, subscription, key)
}

// valueOrNotFound returns a record of the store, or ErrNotFound for nil.
func valueOrNotFound[T any](of *T) (it T, err error) {
	if of == nil {
		return it, inventory.ErrNotFound
	}
	return *of, nil
}

func (s *scopes) subscription(ctx context.Context, d *Decision, id string) (inventory.Subscription, error) {
	if s.target != nil {
		return valueOrNotFound(s.target.Subscription)
	}
	if !s.memory {
		return s.Index.Subscription(ctx, arm.Fold(id))
	}
	found, remembered, err := s.Scopes.Subscription(ctx, id, s.received)
	d.Memory.Scopes = d.Memory.Scopes || remembered
	return found, err
}

func (s *scopes) group(ctx context.Context, d *Decision, name string) (inventory.Group, error) {
	if s.target != nil {
		return valueOrNotFound(s.target.Group)
	}
	if !s.memory {
		return s.Index.Group(ctx, d.Subscription.ID, name)
	}
	found, remembered, err := s.Scopes.Group(ctx, d.Subscription.ID, name, s.received)
	d.Memory.Scopes, d.Memory.group = d.Memory.Scopes || remembered, remembered
	s.noGroup = errors.Is(err, inventory.ErrNotFound) // the cache knows no absences
	return found, err
}

func (s *scopes) registration(ctx context.Context, d *Decision, namespace string) (inventory.Registration, error) {
	if s.target != nil {
		return s.target.Registration, nil
	}
	if !s.memory {
		return s.Index.Registration(ctx, d.Subscription.ID, namespace)
	}
	found, remembered, err := s.Scopes.Registration(ctx, d.Subscription.ID, namespace, s.received)
	d.Memory.Scopes = d.Memory.Scopes || remembered
	return found, err
}

// suffices reports whether the cache's answer is enough for a decision. Only
// the store may refuse, or report that something does not exist. It also
// decides about the existence of a group without a known tracked resource: a
// tracked resource is removed before its group, and is then not found.
func (s *scopes) suffices(d *Decision, err error) bool {
	switch {
	case !d.Memory.Scopes, s.noGroup:
		return true
	case err != nil:
		_, refused := errors.AsType[*arm.Error](err)
		_, needed := errors.AsType[*SearchNeededError](err)
		return !refused && !needed // the store failed, as it would again
	}
	return d.Mode != EmptyList && d.Mode != Absent && (!d.Memory.group || d.inGroup)
}

// check finds the subscription and the group of a request, and refuses a request that
// they do not admit.
func (s *scopes) check(ctx context.Context, r *Request, p access.Principal, d *Decision) error {
	if err := s.checkSubscription(ctx, r, p, d); err != nil {
		return err
	}
	if err := s.findRecord(ctx, r, p, d); err != nil || d.Operation != nil {
		return err // an operation's result outlives the group of its resource
	}
	name := r.Path.Group()
	if name == "" || r.editsGroup() {
		return nil
	}
	return s.checkGroup(ctx, r, d, name)
}

func (s *scopes) checkSubscription(ctx context.Context, r *Request, p access.Principal, d *Decision) error {
	id := r.Path.Subscription()
	if id == "" {
		return nil
	}
	found, err := s.subscription(ctx, d, id)
	if errors.Is(err, inventory.ErrNotFound) || err == nil && (!p.CanSee(found.TenantID) || found.State == inventory.Deleted) {
		return arm.NewError(arm.SubscriptionNotFound, id).WithTarget("subscriptionId")
	}
	if err != nil {
		return fmt.Errorf("read a subscription: %w", err)
	}
	if !r.Reads() && r.Method != http.MethodDelete && (found.State == inventory.Warned || found.State == inventory.Disabled) {
		return arm.NewError(arm.ReadOnlyDisabledSubscription, id).WithTarget("subscriptionId")
	}
	d.Subscription = found
	return nil
}

func (s *scopes) checkGroup(ctx context.Context, r *Request, d *Decision, name string) error {
	g, err := s.group(ctx, d, name)
	if errors.Is(err, inventory.ErrNotFound) {
		return arm.NewError(arm.ResourceGroupNotFound, name).WithTarget("resourceGroupName")
	}
	if err != nil {
		return fmt.Errorf("read a group: %w", err)
	}
	if !r.Reads() && g.State != index.GroupActive {
		return GroupClosed(g.State, g.Name)
	}
	d.Group = g
	return nil
}

// checkRegistration refuses writes into a namespace that the subscription has
// not registered. Among reads, only lists depend on a registration.
func (s *scopes) checkRegistration(ctx context.Context, r *Request, d *Decision) (inventory.Registration, error) {
	if !s.needsRegistration(r, d) || r.Reads() && r.Class != Collection {
		return inventory.Registration{}, nil
	}
	registration, err := s.registration(ctx, d, r.Provider.Key)
	if err != nil {
		return registration, fmt.Errorf("read a registration: %w", err)
	}
	if !registration.State.Permits() && !r.Reads() {
		return registration, NotRegistered(r.Provider, registration.State)
	}
	return registration, nil
}

// editsGroup reports whether the request is a write to the group itself; its handlers
// decide, in their transactions, whether it must exist.
func (r *Request) editsGroup() bool {
	_, below := r.Path.Own()
	return r.Path.Hops() == 0 && !below && !r.Reads()
}
