// Package polls stores the polling URLs that Portico returned to clients, and batches
// of requests with their answers.
package polls

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"portico/arm"
	"portico/inventory/engine"
	"portico/inventory/transaction"
)

// Operation is a polling URL that Portico returned, with the target of its polls.
type Operation struct {
	Subscription string // empty for a call at the tenant
	// Token is the hex SHA-256 of the folded path, '?' and the raw query. If another
	// caller got the same URL before, it is derived from that hash and the caller.
	Token string
	// Identity is the same for all URLs of the operation, however they are spelled;
	// empty if the URL may also belong to another operation.
	Identity   string
	Resource   string // key of the resource that the operation works on, or empty
	Method     string // of the request that started it
	Namespace  string
	Type       string
	Region     string // the region that is polled
	APIVersion string
	TenantID   string // the caller that started it; empty like ObjectID if unknown
	ObjectID   string
	// Origin is the path of the request that started it.
	Origin string
	// Substitute: the URL is Portico's own, because the provider returned none, or none
	// that clients can use.
	Substitute bool
	// Target is the path and query to poll at the provider. Empty means the URL's own or,
	// for a substitute, that there is nothing to poll.
	Target string
	// StatusTarget is the path and query of the operation's status. It is set for a
	// substitute that returns the result because the provider named no URL for it.
	StatusTarget string
	Follow       [16]byte  // SettleResult.Follow, or the ID of the job; zero: none
	Created      time.Time // the zero time means now
	Until        time.Time // when the record expires
}

// BelongsTo reports whether a caller may poll the operation; operations of unknown
// owner match everyone.
func (o *Operation) BelongsTo(tenant, object string) bool {
	return o.UnknownOwner() || arm.EqualFold(o.TenantID, tenant) && o.ObjectID == object
}

// UnknownOwner reports whether the caller that started the operation is unknown.
func (o *Operation) UnknownOwner() bool { return o.TenantID == "" && o.ObjectID == "" }

// sharedToken returns the token for a caller that got the same URL as an earlier caller: a
// provider may treat the requests of several callers as one operation, and return its URL to
// each of them.
func sharedToken(token, tenant, object string) string {
	sum := sha256.Sum256([]byte(token + "\n" + arm.Fold(tenant) + "\n" + object))
	return hex.EncodeToString(sum[:])
}

// HasToken reports whether the record's URL has this token, and is not merely another
// spelling of the URL that has it.
func (o *Operation) HasToken(token string) bool {
	return o.Token == token || o.Token == sharedToken(token, o.TenantID, o.ObjectID)
}

// PollsAnotherURL reports whether polls are not sent to the URL's own path and query.
func (o *Operation) PollsAnotherURL() bool { return o.Substitute || o.Target != "" }

const (
	operationColumns = `subscription, token, resource, method, namespace, type, region, api_version, tenant, object, follow, ` +
		`created, until, origin, target, substitute, identity, status_target`

	overwriteOperation = `INSERT INTO operations (` + operationColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (subscription, token) DO UPDATE
		SET resource = excluded.resource, method = excluded.method, namespace = excluded.namespace,
			type = excluded.type, region = excluded.region, api_version = excluded.api_version,
			tenant = excluded.tenant, object = excluded.object, follow = excluded.follow, created = excluded.created, until = excluded.until,
			origin = excluded.origin, target = excluded.target, substitute = excluded.substitute, identity = excluded.identity,
			status_target = excluded.status_target`
	// Another caller's record stays until it expires.
	putOperation = overwriteOperation + ` WHERE operations.until <= ? OR operations.tenant = excluded.tenant AND operations.object = excluded.object
		OR operations.tenant = '' AND operations.object = ''`
	proveOperation  = `SELECT 1 / COUNT(*) FROM operations WHERE subscription = ? AND token = ? AND tenant = ? AND object = ?`
	renewOperation  = `UPDATE operations SET until = ? WHERE subscription = ? AND token = ? AND until < ?`
	learnOperation  = overwriteOperation + ` WHERE operations.until <= ?`
	selectOperation = `SELECT ` + operationColumns + ` FROM operations WHERE subscription = ? AND token = ? AND until > ?`
	selectEither    = `SELECT ` + operationColumns + ` FROM operations WHERE subscription = ? AND token IN (?, ?) AND until > ?`
	// Selects the first record of an operation's next owner.
	nextOwner = `SELECT ` + operationColumns + ` FROM operations
		WHERE subscription = ? AND identity = ? AND (tenant, object) > (?, ?) AND until > ? ORDER BY tenant, object LIMIT 1`
	countOfCaller = `SELECT COUNT(*) FROM (SELECT token FROM operations WHERE subscription = ? AND tenant = ? AND object = ? AND until > ? ` +
		`LIMIT ?) AS counted`
	oldestOfCaller       = `SELECT token FROM operations WHERE subscription = ? AND tenant = ? AND object = ? ORDER BY until LIMIT ?`
	dropLearnedOperation = `DELETE FROM operations WHERE subscription = ? AND token = ? AND tenant = ? AND object = ?`
	expiredOperations    = `SELECT subscription, token FROM operations WHERE until <= ? ORDER BY until LIMIT ?`
	deleteOperation      = `DELETE FROM operations WHERE subscription = ? AND token = ? AND until <= ?`
)

// Records stores operations.
type Records struct {
	database     *transaction.Database
	maxOwnerless int // ownerless operations that a subscription keeps; 0: all
}

// NewRecords returns the operations of a database. learned bounds the operations of a
// subscription whose owner is unknown; 0 means no bound.
func NewRecords(d *transaction.Database, learned int) *Records {
	return &Records{database: d, maxOwnerless: learned}
}

// Record records a polling URL. It replaces the caller's own record of the URL, but no
// other caller's.
func (r *Records) Record(ctx context.Context, o Operation) error {
	return r.database.Write(ctx, engine.Flushed, transaction.RecordLocks(o.Subscription), o.Put)
}

// Renew makes a polling URL's record expire later. It changes nothing else, so it keeps
// the changes of concurrent polls.
func (r *Records) Renew(ctx context.Context, sub, token string, until time.Time) error {
	return r.database.Write(ctx, engine.Flushed, transaction.RecordLocks(sub), func(t *transaction.Tx) error {
		return t.Later(renewOperation, engine.Micros(until), arm.Fold(sub), token, engine.Micros(until))
	})
}

// Learn records a polling URL from an answer that did not start the operation. An existing
// record stays unchanged, above all its owner. A subscription keeps a limited number of
// ownerless records; the oldest are dropped.
func (r *Records) Learn(ctx context.Context, o Operation) error {
	return r.database.Write(ctx, engine.Flushed, transaction.RecordLocks(o.Subscription), func(t *transaction.Tx) error {
		n, err := t.Exec(learnOperation, append(o.columns(t), engine.Micros(t.Now))...)
		if err != nil || n == 0 || !o.UnknownOwner() {
			return err
		}
		return dropLearned(t, arm.Fold(o.Subscription), r.maxOwnerless)
	})
}

// dropLearned removes the oldest ownerless operations beyond the limit. It runs after each
// new one, so there are never many to remove.
func dropLearned(t *transaction.Tx, sub string, limit int) error {
	if limit <= 0 {
		return nil
	}
	var kept int
	if err := t.One(countOfCaller, sub, "", "", 0, limit+engine.PieceSize)(&kept); err != nil || kept <= limit {
		return err
	}
	oldest, err := engine.Collect(t, engine.ScanOne[string], oldestOfCaller, sub, "", "", kept-limit)
	if err != nil {
		return fmt.Errorf("read the oldest operations of a caller: %w", err)
	}
	for _, token := range oldest {
		if err := t.Later(dropLearnedOperation, sub, token, "", ""); err != nil {
			return err
		}
	}
	return nil
}

// Count returns the number of a caller's operations in a subscription, at most limit.
func (r *Records) Count(ctx context.Context, sub, tenant, object string, limit int) (n int, err error) {
	err = r.database.Read(ctx).One(countOfCaller, arm.Fold(sub), tenant, object, engine.Micros(r.database.Now()), limit)(&n)
	return n, err
}

// Put records the operation in a transaction; see [Records.Record].
func (o Operation) Put(t *transaction.Tx) error {
	args := append(o.columns(t), engine.Micros(t.Now))
	switch {
	case o.UnknownOwner():
		return t.Later(putOperation, args...)
	case t.Proves():
		if err := t.Later(putOperation, args...); err != nil {
			return err
		}
		return t.LookUpLater(engine.Proof(proveOperation, arm.Fold(o.Subscription), o.Token, o.TenantID, o.ObjectID))
	}
	put, err := t.Exec(putOperation, args...)
	if err != nil || put > 0 {
		return err
	}
	o.Token = sharedToken(o.Token, o.TenantID, o.ObjectID)
	return t.Later(overwriteOperation, o.columns(t)...)
}

func (o Operation) columns(t *transaction.Tx) []any {
	created := o.Created
	if created.IsZero() {
		created = t.Now
	}
	return []any{
		arm.Fold(o.Subscription), o.Token, arm.Fold(o.Resource), o.Method, o.Namespace,
		o.Type, o.Region, o.APIVersion, o.TenantID, o.ObjectID, o.Follow[:], engine.Micros(created), engine.Micros(o.Until),
		o.Origin, o.Target, engine.Flag(o.Substitute), o.Identity, o.StatusTarget,
	}
}

// Operation returns the record of a polling URL. It returns ErrNotFound also for an
// expired record.
func (r *Records) Operation(ctx context.Context, sub, token string) (Operation, error) {
	o, err := scanOperation(r.database.Read(ctx).One(selectOperation, arm.Fold(sub), token, engine.Micros(r.database.Now())))
	return o, engine.OrNotFound(err)
}

func scanOperation(scan engine.Scanner) (Operation, error) {
	var (
		o              Operation
		follow         []byte
		created, until int64
	)
	err := scan(&o.Subscription, &o.Token, &o.Resource, &o.Method, &o.Namespace, &o.Type, &o.Region, &o.APIVersion,
		&o.TenantID, &o.ObjectID, &follow, &created, &until, &o.Origin, &o.Target, &o.Substitute, &o.Identity, &o.StatusTarget)
	copy(o.Follow[:], follow)
	o.Created, o.Until = engine.TimeOf(created), engine.TimeOf(until)
	return o, err
}

// OperationFor returns the record of a polling URL, like Operation. If the URL has several
// records, it returns the caller's own.
func (r *Records) OperationFor(ctx context.Context, sub, token, tenant, object string) (Operation, error) {
	known, err := engine.Collect(r.database.Read(ctx), scanOperation, selectEither, arm.Fold(sub), token, sharedToken(token, tenant, object),
		engine.Micros(r.database.Now()))
	switch {
	case err != nil:
		return Operation{}, err
	case len(known) == 0:
		return Operation{}, engine.ErrNotFound
	}
	for _, o := range known {
		if !o.UnknownOwner() && o.BelongsTo(tenant, object) && o.Token == token {
			return o, nil
		}
	}
	for _, o := range known {
		if o.Token != token {
			return o, nil
		}
	}
	return known[0], nil
}

// OperationByIdentity finds an operation by its identity. others reports whether another
// caller is known to have started it. If not, own is the caller's record, or the error is
// ErrNotFound.
func (r *Records) OperationByIdentity(ctx context.Context, sub, identity, tenant, object string) (own Operation, others bool, err error) {
	err = engine.ErrNotFound
	last := Operation{} // operations of unknown owner come first
	for {
		next, failure := scanOperation(r.database.Read(ctx).One(nextOwner, arm.Fold(sub), identity, last.TenantID, last.ObjectID,
			engine.Micros(r.database.Now())))
		switch {
		case errors.Is(failure, sql.ErrNoRows):
			return own, false, err
		case failure != nil:
			return Operation{}, false, failure
		case !next.BelongsTo(tenant, object):
			return Operation{}, true, nil
		}
		own, last, err = next, next, nil
	}
}

// Forget deletes at most limit expired records and returns how many.
func (r *Records) Forget(ctx context.Context, limit int) (int, error) {
	return engine.DeletePassed(ctx, r.database.Engine, expiredOperations, deleteOperation, r.database.Now(), limit)
}
