package inventory

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	"portico/arm"
	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/inventory/jobrow"
	"portico/inventory/transaction"
)

// RegistrationState is the state of a provider namespace in a subscription. The numbers
// are stored.
type RegistrationState uint8

// The states of a registration, as clients see them.
const (
	NotRegistered RegistrationState = iota
	// Registering: the endpoints are being notified. Writes are admitted.
	Registering
	Registered
	// Unregistering: the endpoints are being notified. Writes are no longer admitted.
	Unregistering
	Unregistered
)

var registrationStates = [...]string{"NotRegistered", "Registering", "Registered", "Unregistering", "Unregistered"}

func (s RegistrationState) String() string { return index.NameOf(registrationStates[:], int(s)) }

// Permits reports whether writes are admitted.
func (s RegistrationState) Permits() bool { return s == Registering || s == Registered }

// settled returns the state that follows once the endpoints are notified.
func (s RegistrationState) settled() RegistrationState {
	switch s {
	case Registering:
		return Registered
	case Unregistering:
		return Unregistered
	case NotRegistered, Registered, Unregistered:
	}
	return s
}

// Registration is the state of a provider namespace in one subscription.
type Registration struct {
	Subscription string // folded
	Namespace    string // folded
	State        RegistrationState
	// Locations has the provider's regions when it was registered; nil means all, including
	// later ones.
	Locations  []string
	Registered time.Time // zero if it never was
	Changed    time.Time
}

// Covers reports whether the registration includes a region.
func (r Registration) Covers(region string) bool {
	return r.Locations == nil || slices.Contains(r.Locations, region)
}

// Never reports whether the namespace was never registered. Its endpoints may not know the
// subscription then.
func (r Registration) Never() bool {
	return r.State == NotRegistered || r.State == Unregistered && r.Registered.IsZero()
}

// ErrNamespaceInUse refuses to unregister a namespace while the index holds a resource
// of it, or a write or a move that may create one is under way.
var ErrNamespaceInUse = errors.New("inventory: the subscription holds resources of the namespace")

const (
	registrationColumns = `subscription, namespace, state, etag, changed, locations, registered`

	selectRegistration = `SELECT ` + registrationColumns + ` FROM registrations WHERE subscription = ? AND namespace = ?`
	listRegistrations  = `SELECT ` + registrationColumns + ` FROM registrations WHERE subscription = ? ORDER BY namespace`
	putRegistration    = `INSERT INTO registrations (` + registrationColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (subscription, namespace) DO UPDATE
		SET state = excluded.state, changed = excluded.changed, locations = excluded.locations, registered = excluded.registered`
	anyOfNamespace = `SELECT EXISTS (SELECT 1 FROM resources WHERE subscription = ? AND type >= ? AND type < ?)
		OR EXISTS (SELECT 1 FROM intents WHERE subscription = ? AND type >= ? AND type < ? AND ends > ?)
		OR EXISTS (SELECT 1 FROM strays WHERE subscription = ? AND type >= ? AND type < ?)
		OR EXISTS (SELECT 1 FROM resource_groups WHERE subscription = ? AND state = ?
			AND EXISTS (SELECT 1 FROM written_regions WHERE written_regions.subscription = resource_groups.subscription
				AND written_regions.resource_group = resource_groups.key AND written_regions.incarnation = resource_groups.incarnation
				AND written_regions.type >= ? AND written_regions.type < ?))`
)

func scanRegistration(scan engine.Scanner) (Registration, error) {
	var (
		r                   Registration
		etag, locations     string
		changed, registered int64
	)
	err := scan(&r.Subscription, &r.Namespace, &r.State, &etag, &changed, &locations, &registered)
	if locations != "" {
		r.Locations = strings.Fields(locations)
	}
	if r.Changed = engine.TimeOf(changed); registered != 0 {
		r.Registered = engine.TimeOf(registered)
	}
	return r, err
}

// Registration returns the registration of a namespace, with the state NotRegistered if the
// store has none.
func (s *Store) Registration(ctx context.Context, sub, namespace string) (Registration, error) {
	return loadRegistration(s.engine.Read(ctx), sub, namespace)
}

func loadRegistration(from engine.Source, sub, namespace string) (Registration, error) {
	sub, namespace = arm.Fold(sub), arm.Fold(namespace)
	r, err := scanRegistration(from.One(selectRegistration, sub, namespace))
	if errors.Is(err, sql.ErrNoRows) {
		return Registration{Subscription: sub, Namespace: namespace}, nil
	}
	return r, err
}

// Registrations lists a subscription's registrations by namespace.
func (s *Store) Registrations(ctx context.Context, sub string) ([]Registration, error) {
	return engine.Collect(s.engine.Read(ctx), scanRegistration, listRegistrations, arm.Fold(sub))
}

// registrationState returns the state of a namespace, read once for all members of the
// transaction.
func (t *tx) registrationState(sub, namespace string) (RegistrationState, error) {
	of := registrationOf{sub, namespace}
	if state, known := t.locked.registrations[of]; known {
		return state, nil
	}
	r, err := loadRegistration(t, sub, namespace)
	if err != nil {
		return 0, err
	}
	t.locked.registrations[of] = r.State
	return r.State, nil
}

// RegistrationChange is a request to register or unregister a namespace.
type RegistrationChange struct {
	Subscription string
	Namespace    string // in the declared casing, for events
	// Check may refuse the present registration, before any other check. It runs in the
	// writing transaction and must be pure.
	Check func(Registration) error
	// Targets has the endpoints of the namespace; the registration covers their regions.
	Targets []NotificationTarget
	// ETag makes the entity tag of the registration in a state; nil for no entity tag.
	ETag func(RegistrationState) string
}

// Register registers a namespace for the regions of all targets, and notifies them. The
// result is Registering, or the present state if nothing had to change. The subscription
// may refuse it as for EditGroup.
func (s *Store) Register(ctx context.Context, c RegistrationChange) (Registration, error) {
	return s.changeRegistration(ctx, c, transaction.SubscriptionLocks, func(t *tx, r Registration) (Registration, error) {
		missing := slices.ContainsFunc(c.Targets, func(a NotificationTarget) bool { return !r.Covers(a.Region) })
		if r.State.Permits() && !missing {
			return r, nil
		}
		if !r.State.Permits() {
			r.Registered, r.Locations = t.Now, []string{}
		}
		for _, a := range c.Targets {
			if !slices.Contains(r.Locations, a.Region) {
				r.Locations = append(r.Locations, a.Region)
			}
		}
		slices.Sort(r.Locations)
		r.State = Registering
		return r, nil
	})
}

// Unregister ends the registration of a namespace, and notifies its endpoints. The result
// is Unregistering, or Unregistered if that has ended or the namespace was never
// registered: clients wait for that state. It returns the errors of Register and
// ErrNamespaceInUse. It misses no write that was admitted before, because both lock the
// row of the write's group.
func (s *Store) Unregister(ctx context.Context, c RegistrationChange) (Registration, error) {
	return s.changeRegistration(ctx, c, subscriptionAndGroupsLocks, func(t *tx, r Registration) (Registration, error) {
		switch {
		case r.State == NotRegistered:
			r.State = Unregistered
			return r, nil
		case !r.State.Permits():
			return r, nil
		}
		used, err := t.inUse(r.Subscription, r.Namespace)
		if err == nil && used {
			err = ErrNamespaceInUse
		}
		r.State = Unregistering
		return r, err
	})
}

func (s *Store) changeRegistration(
	ctx context.Context, c RegistrationChange, locks func(sub string) engine.LockSet, change func(*tx, Registration) (Registration, error),
) (Registration, error) {
	return commit(ctx, s, engine.Flushed, locks(c.Subscription), func(t *tx) (Registration, error) {
		sub, err := t.openSubscription(c.Subscription, false)
		if err != nil {
			return Registration{}, err
		}
		current, err := loadRegistration(t, c.Subscription, c.Namespace)
		if err == nil && c.Check != nil {
			err = c.Check(current)
		}
		if err != nil {
			return Registration{}, err
		}
		next, err := change(t, current)
		if err != nil || next.State == current.State && len(next.Locations) == len(current.Locations) {
			return next, err
		}
		next.Changed = t.Now
		if err := next.put(t, c.Namespace, c.ETag); err != nil {
			return Registration{}, err
		}
		if next.State == next.State.settled() { // there is nothing to notify endpoints of
			return next, nil
		}
		sub.Version++
		if err := sub.update(t); err != nil {
			return Registration{}, err
		}
		if err := t.notify(sub, c.Targets, next.Namespace); err != nil {
			return Registration{}, err
		}
		return next, t.addOrRunSooner(jobrow.Job{
			Subscription: sub.ID, ID: jobrow.ID(RegistrationJob, next.Namespace), Kind: RegistrationJob, Subject: next.Namespace,
			Due: t.Now.Add(registrationTime), Payload: "{}",
		})
	})
}

func (r Registration) put(t *tx, name string, etag func(RegistrationState) string) error {
	t.ChangesScope(r.Subscription)
	if err := t.recordRegistration(r, name, entityTag(etag, r.State)); err != nil {
		return err
	}
	registered := int64(0)
	if !r.Registered.IsZero() {
		registered = engine.Micros(r.Registered)
	}
	return t.Later(putRegistration, r.Subscription, r.Namespace, r.State, "", engine.Micros(r.Changed), strings.Join(r.Locations, " "), registered)
}

// RegistrationJob is the kind of the job that settles a registration in case the request
// that waits for the endpoints ends early. Its subject is the namespace.
const RegistrationJob = "registration"

// registrationTime is the least time for the notifications before the registration settles.
const registrationTime = 3 * time.Second

// SettleRegistration turns Registering into Registered, and Unregistering into
// Unregistered; it keeps any other state. namespace and etag are as in RegistrationChange.
func (s *Store) SettleRegistration(ctx context.Context, sub, namespace string, etag func(RegistrationState) string) (Registration, error) {
	return commit(ctx, s, engine.Flushed, transaction.SubscriptionLocks(sub), func(t *tx) (Registration, error) {
		r, err := loadRegistration(t, sub, namespace)
		if err != nil || r.State == r.State.settled() {
			return r, err
		}
		r.State, r.Changed = r.State.settled(), t.Now
		return r, r.put(t, namespace, etag)
	})
}

// inUse reports whether the index holds a resource of a namespace, in any phase, or
// whether a write or a move may create one. Both arguments are folded.
func (t *tx) inUse(sub, namespace string) (used bool, err error) {
	first, last := engine.KeysBelow(namespace)
	err = t.One(anyOfNamespace, sub, first, last, sub, first, last, engine.Micros(t.Now), sub, first, last, sub, index.GroupMoving, first, last)(&used)
	return used, err
}

// admittedByRegistration checks that the write's namespace is registered, if it has one.
// The caller has locked the group's row; Unregister locks the rows of all groups first.
func (w *Write) admittedByRegistration(t *tx) error {
	if w.Namespace == "" || w.OfGroupDelete {
		return nil
	}
	state, err := t.registrationState(w.Subscription, w.Namespace)
	if err == nil && !state.Permits() {
		return &RegistrationStateError{Namespace: w.Namespace, State: state}
	}
	return err
}
