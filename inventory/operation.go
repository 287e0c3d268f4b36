package inventory

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"portico/arm"
)

// Operation is a polling URL that Portico handed out: where a poll of it goes.
type Operation struct {
	Subscription string // empty: of a call of the tenant
	Token        string // hex SHA-256 of the folded path, '?' and the raw query
	Resource     string // key of the resource that the operation works on, or empty
	Method       string // of the request that began it
	Namespace    string
	Type         string
	Region       string // whose endpoint is polled
	APIVersion   string
	TenantID     string // who began it; with ObjectID empty where that is not known
	ObjectID     string
	// Origin is the path of the request that began it.
	Origin string
	// StandsIn: the URL is Portico's own, for clients cannot be given what the
	// provider named, or it named nothing.
	StandsIn bool
	// Target is the path and query that is asked for in the URL's place, empty
	// where that is the URL's own, or of a stand-in where there is none.
	Target  string
	Follow  [16]byte  // of SettleResult; zero where nothing is followed
	Created time.Time // the zero time means now
	Until   time.Time // the record counts no longer from then on
}

// Replays tells that not the URL itself is asked for.
func (o *Operation) Replays() bool { return o.StandsIn || o.Target != "" }

const (
	operationColumns = `subscription, token, resource, method, namespace, type, region, api_version, tenant, object, follow, created, until, origin, target, stands_in`

	putOperation = `INSERT INTO operations (` + operationColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (subscription, token) DO UPDATE
		SET resource = excluded.resource, method = excluded.method, namespace = excluded.namespace,
			type = excluded.type, region = excluded.region, api_version = excluded.api_version,
			tenant = excluded.tenant, object = excluded.object, follow = excluded.follow, created = excluded.created, until = excluded.until,
			origin = excluded.origin, target = excluded.target, stands_in = excluded.stands_in`
	renewOperation  = `UPDATE operations SET until = ? WHERE subscription = ? AND token = ? AND until < ?`
	learnOperation  = putOperation + ` WHERE operations.until <= ?`
	selectOperation = `SELECT ` + operationColumns + ` FROM operations WHERE subscription = ? AND token = ? AND until > ?`
	endedOperations = `SELECT subscription, token FROM operations WHERE until <= ? ORDER BY until LIMIT ?`
	deleteOperation = `DELETE FROM operations WHERE subscription = ? AND token = ? AND until <= ?`
)

// RecordOperation remembers a polling URL, in place of what was known of it.
func (s *Store) RecordOperation(ctx context.Context, o Operation) error {
	return s.writer.do(ctx, flushed, aboutSubscription(o.Subscription), o.put)
}

// RenewOperation has what is known of a polling URL count until a later time. All
// else stays, also what another poll has changed of it meanwhile.
func (s *Store) RenewOperation(ctx context.Context, sub, token string, until time.Time) error {
	return s.writer.do(ctx, flushed, aboutSubscription(sub), func(t *tx) error {
		return t.later(renewOperation, micros(until), arm.Fold(sub), token, micros(until))
	})
}

// LearnOperation remembers a polling URL that an answer named without beginning
// its operation. What is known of it stays as it is: whose it is above all.
func (s *Store) LearnOperation(ctx context.Context, o Operation) error {
	return s.writer.do(ctx, flushed, aboutSubscription(o.Subscription), func(t *tx) error {
		return t.later(learnOperation, append(o.columns(t), micros(t.now))...)
	})
}

func (o Operation) put(t *tx) error { return t.later(putOperation, o.columns(t)...) }

func (o Operation) columns(t *tx) []any {
	created := o.Created
	if created.IsZero() {
		created = t.now
	}
	return []any{
		arm.Fold(o.Subscription), o.Token, arm.Fold(o.Resource), o.Method, o.Namespace,
		o.Type, o.Region, o.APIVersion, o.TenantID, o.ObjectID, o.Follow[:], micros(created), micros(o.Until),
		o.Origin, o.Target, flag(o.StandsIn),
	}
}

// Operation returns what was recorded for a polling URL, or ErrNotFound, also
// when the record has expired.
func (s *Store) Operation(ctx context.Context, sub, token string) (Operation, error) {
	var (
		o              Operation
		follow         []byte
		created, until int64
	)
	err := s.read(ctx).one(selectOperation, arm.Fold(sub), token, micros(s.dialect.now()))(
		&o.Subscription, &o.Token, &o.Resource, &o.Method, &o.Namespace, &o.Type, &o.Region, &o.APIVersion,
		&o.TenantID, &o.ObjectID, &follow, &created, &until, &o.Origin, &o.Target, &o.StandsIn)
	if errors.Is(err, sql.ErrNoRows) {
		return Operation{}, ErrNotFound
	}
	copy(o.Follow[:], follow)
	o.Created, o.Until = moment(created), moment(until)
	return o, err
}

// ForgetOperations deletes at most limit expired records and returns how many
// it deleted.
func (s *Store) ForgetOperations(ctx context.Context, limit int) (int, error) {
	now := micros(s.dialect.now())
	ended, err := collect(s.read(ctx), scanPair, endedOperations, now, atMost(limit))
	if err != nil {
		return 0, err
	}
	return inPieces(ctx, s, ended, func(t *tx, piece []pair) (int, error) { return t.deleteAll(deleteOperation, piece, now) })
}

// pair is a subscription and what names a row in it.
type pair struct{ subscription, name string }

func scanPair(scan scanner) (p pair, err error) {
	err = scan(&p.subscription, &p.name)
	return p, err
}

// deleteAll runs a DELETE for each pair, by key and by a bound that may have
// moved since the pair was read.
func (t *tx) deleteAll(statement string, pairs []pair, bound int64) (int, error) {
	deleted := 0
	for _, p := range pairs {
		n, err := t.exec(statement, p.subscription, p.name, bound)
		if err != nil {
			return 0, err
		}
		deleted += int(n)
	}
	return deleted, nil
}
