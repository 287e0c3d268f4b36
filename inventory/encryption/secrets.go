package encryption

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"

	"portico/inventory/engine"
)

const (
	insertSecret = `INSERT INTO secrets (subscription, name, secret, created) VALUES (?, ?, ?, ?)
		ON CONFLICT (subscription, name) DO NOTHING`
	selectSecret = `SELECT secret FROM secrets WHERE subscription = ? AND name = ?`
)

// Secrets stores random keys in a database.
type Secrets struct{ Engine *engine.Engine }

// Named returns the key with a name. The first call creates it; all processes that share
// the database get the same key.
func (s Secrets) Named(ctx context.Context, name string) (key [32]byte, err error) {
	return engine.Commit(ctx, s.Engine, engine.Flushed, engine.LockSet{ChangesOwnOnly: true}, func(u engine.Unit) (key [32]byte, err error) {
		t := u.Base()
		var fresh [32]byte
		rand.Read(fresh[:]) // never fails
		if _, err := t.Exec(insertSecret, "", name, fresh[:], engine.Micros(t.Now)); err != nil {
			return key, fmt.Errorf("insert a secret: %w", err)
		}
		var stored []byte
		if err := t.One(selectSecret, "", name)(&stored); err != nil {
			return key, fmt.Errorf("read a secret: %w", err)
		}
		if len(stored) != len(key) {
			return key, fmt.Errorf("inventory: the secret %s is %d bytes long", name, len(stored))
		}
		return [32]byte(stored), nil
	})
}

// encryptionSecret names the encryption key that is stored in the database.
const encryptionSecret = "encryption"

// Stored implements [Options.Stored].
func (s Secrets) Stored(ctx context.Context, create bool) (key [32]byte, found bool, err error) {
	if create {
		key, err = s.Named(ctx, encryptionSecret)
		return key, err == nil, err
	}
	var stored []byte
	err = s.Engine.Read(ctx).One(selectSecret, "", encryptionSecret)(&stored)
	if errors.Is(err, sql.ErrNoRows) || err == nil && len(stored) != len(key) {
		return key, false, nil
	}
	if err != nil {
		return key, false, err
	}
	return [32]byte(stored), true, nil
}
