package observed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"portico/inventory/encryption"
	"portico/inventory/engine"
	"portico/inventory/transaction"
)

// ErrorsKept is how long a replica's errors are kept after its last write.
const ErrorsKept = 24 * time.Hour

// noSubscription is the partition of records that belong to no subscription.
const noSubscription = ""

const (
	putErrors = `INSERT INTO replica_errors (subscription, replica, written, groups) VALUES (?, ?, ?, ?)
		ON CONFLICT (subscription, replica) DO UPDATE SET written = excluded.written, groups = excluded.groups`
	listErrors   = `SELECT replica, groups FROM replica_errors WHERE subscription = ? AND replica <> ? ORDER BY written DESC LIMIT ?`
	forgetErrors = `DELETE FROM replica_errors WHERE subscription = ? AND written <= ?`
)

// maxReplicas bounds the replicas whose errors are read. A replica has another name after
// each start.
const maxReplicas = 50

// Errors stores the errors of all replicas that share a database, as one text for each.
type Errors struct {
	database *transaction.Database
	shared   bool
}

// NewErrors returns the errors of a database. shared means that several replicas may use
// the database.
func NewErrors(d *transaction.Database, shared bool) *Errors {
	return &Errors{database: d, shared: shared}
}

// Shared reports whether other replicas may read what this one writes.
func (e *Errors) Shared() bool { return e.shared }

// Put replaces the text of a replica, and deletes the texts of replicas that have not
// written for long. It takes one round trip and is not durable, because the next Put
// replaces a lost one.
func (e *Errors) Put(ctx context.Context, replica string, text []byte) error {
	return e.database.Write(ctx, engine.Unflushed, transaction.RecordLocks(noSubscription), func(t *transaction.Tx) error {
		sealed, err := e.database.Cipher.Encrypt(t.Context, errorsPlace(replica), text)
		if err != nil {
			return fmt.Errorf("encrypt the errors of a replica: %w", err)
		}
		if err := t.Later(putErrors, noSubscription, replica, engine.Micros(t.Now), sealed); err != nil {
			return err
		}
		return t.Later(forgetErrors, noSubscription, engine.Micros(t.Now.Add(-ErrorsKept)))
	})
}

// errorsPlace returns the place that encryption binds a replica's text to.
func errorsPlace(replica string) []byte { return []byte("errors of " + replica) }

// Others returns the texts of the other replicas, by their names.
func (e *Errors) Others(ctx context.Context, replica string) (map[string][]byte, error) {
	texts := map[string][]byte{}
	if !e.shared {
		return texts, nil
	}
	err := e.database.Read(ctx).Each(func(scan engine.Scanner) error {
		var name string
		var sealed []byte
		if err := scan(&name, &sealed); err != nil {
			return err
		}
		texts[name] = sealed
		return nil
	}, listErrors, noSubscription, replica, maxReplicas)
	if err != nil {
		return nil, fmt.Errorf("read the errors of replicas: %w", err)
	}
	for name, sealed := range texts {
		text, err := e.database.Cipher.Decrypt(ctx, errorsPlace(name), sealed)
		switch {
		case errors.Is(err, encryption.ErrDecrypt): // the key is lost
			delete(texts, name)
		case err != nil:
			return nil, err
		default:
			texts[name] = text
		}
	}
	return texts, nil
}
