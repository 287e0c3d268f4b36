package inventory

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"portico/arm"
)

// RegistrationState is the state of a provider namespace in a subscription.
// The numbers are stored.
type RegistrationState uint8

// The states of a registration, as clients see them.
const (
	NotRegistered RegistrationState = iota
	Registering
	Registered
	Unregistering
	Unregistered
)

var registrationStates = [...]string{"NotRegistered", "Registering", "Registered", "Unregistering", "Unregistered"}

func (s RegistrationState) String() string { return nameOf(registrationStates[:], int(s)) }

// Registration tells whether a subscription uses a provider namespace.
type Registration struct {
	Subscription string // folded
	Namespace    string // folded
	State        RegistrationState
	ETag         string
	Changed      time.Time
}

const (
	registrationColumns = `subscription, namespace, state, etag, changed`

	selectRegistration = `SELECT ` + registrationColumns + ` FROM registrations WHERE subscription = ? AND namespace = ?`
	lockRegistration   = selectRegistration + lockSuffix
	listRegistrations  = `SELECT ` + registrationColumns + ` FROM registrations WHERE subscription = ? ORDER BY namespace`
	putRegistration    = `INSERT INTO registrations (` + registrationColumns + `) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (subscription, namespace) DO UPDATE
		SET state = excluded.state, etag = excluded.etag, changed = excluded.changed`
	anyOfNamespace = `SELECT EXISTS (SELECT 1 FROM resources WHERE subscription = ? AND type >= ? AND type < ?)`
)

func scanRegistration(scan scanner) (Registration, error) {
	var (
		r       Registration
		changed int64
	)
	err := scan(&r.Subscription, &r.Namespace, &r.State, &r.ETag, &changed)
	r.Changed = moment(changed)
	return r, err
}

// Registration returns the registration of a namespace, which is NotRegistered
// where the store has none.
func (s *Store) Registration(ctx context.Context, sub, namespace string) (Registration, error) {
	return loadRegistration(s.read(ctx), selectRegistration, sub, namespace)
}

func loadRegistration(from source, statement, sub, namespace string) (Registration, error) {
	sub, namespace = arm.Fold(sub), arm.Fold(namespace)
	r, err := scanRegistration(from.one(statement, sub, namespace))
	if errors.Is(err, sql.ErrNoRows) {
		return Registration{Subscription: sub, Namespace: namespace}, nil
	}
	return r, err
}

// Registrations lists what the store has of a subscription, by namespace.
func (s *Store) Registrations(ctx context.Context, sub string) ([]Registration, error) {
	return collect(s.read(ctx), scanRegistration, listRegistrations, arm.Fold(sub))
}

// EditRegistration changes a registration: edit is given the present one and
// returns State and ETag of the next. It runs inside the writing transaction
// and must be pure; its error is returned as it is and nothing is written.
func (s *Store) EditRegistration(ctx context.Context, sub, namespace string, edit func(Registration) (Registration, error)) (Registration, error) {
	return commit(ctx, s, flushed, aboutSubscription(sub), func(t *tx) (Registration, error) {
		current, err := loadRegistration(t, lockRegistration, sub, namespace)
		if err != nil {
			return Registration{}, err
		}
		next, err := edit(current)
		if err != nil {
			return Registration{}, err
		}
		next.Subscription, next.Namespace, next.Changed = current.Subscription, current.Namespace, t.now
		_, err = t.exec(putRegistration, next.Subscription, next.Namespace, next.State, next.ETag, micros(next.Changed))
		return next, err
	})
}

// HasResources tells whether the index holds any resource of a namespace, in
// any phase.
func (s *Store) HasResources(ctx context.Context, sub, namespace string) (bool, error) {
	var holds bool
	namespace = arm.Fold(namespace)
	err := s.read(ctx).one(anyOfNamespace, arm.Fold(sub), namespace+"/", namespace+"0")(&holds)
	return holds, err
}
