package observed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"portico/arm"
	"portico/inventory/encryption"
	"portico/inventory/engine"
	"portico/inventory/memory"
	"portico/inventory/transaction"
)

// Bounds of the names of callers.
const (
	// NamesKept is how long a name is kept after its caller was seen last.
	NamesKept = 90 * 24 * time.Hour
	// MostNames is how many names of one tenant are kept, the most recently seen ones.
	MostNames = 10_000
)

const (
	putName = `INSERT INTO caller_names (subscription, principal, until, name) VALUES (?, ?, ?, ?)
		ON CONFLICT (subscription, principal) DO UPDATE SET until = excluded.until, name = excluded.name`
	selectNames  = `SELECT principal, name FROM caller_names WHERE subscription = ?`
	countNames   = `SELECT COUNT(*) FROM caller_names WHERE subscription = ?`
	oldestNames  = `SELECT principal FROM caller_names WHERE subscription = ? ORDER BY until, principal LIMIT ?`
	dropName     = `DELETE FROM caller_names WHERE subscription = ? AND principal = ?`
	expiredNames = `SELECT subscription, principal FROM caller_names WHERE until <= ? ORDER BY until LIMIT ?`
	forgetName   = `DELETE FROM caller_names WHERE subscription = ? AND principal = ? AND until <= ?`
)

// Names stores the names that callers had in their tokens.
type Names struct {
	database *transaction.Database
	maxNames int
}

// NewNames returns the names of a database. most bounds the names of each tenant.
func NewNames(d *transaction.Database, most int) *Names { return &Names{database: d, maxNames: most} }

// namePlace returns the place that encryption binds a name to.
func namePlace(partition, principal string) []byte {
	return []byte("name of " + partition + " " + principal)
}

// Put stores names of one tenant, by the ids of their callers. It is not durable, because a
// caller's next request stores the name again.
func (n *Names) Put(ctx context.Context, tenant string, names map[string]string) error {
	partition := memory.TenantPartition(tenant)
	return n.database.Write(ctx, engine.Unflushed, transaction.RecordLocks(partition), func(t *transaction.Tx) error {
		for principal, name := range names {
			principal = arm.Fold(principal)
			sealed, err := n.database.Cipher.Encrypt(t.Context, namePlace(partition, principal), []byte(name))
			if err != nil {
				return fmt.Errorf("encrypt the name of a caller: %w", err)
			}
			if err := t.Later(putName, partition, principal, engine.Micros(t.Now.Add(NamesKept)), sealed); err != nil {
				return err
			}
		}
		return n.dropOldest(t, partition)
	})
}

// dropOldest drops a tenant's excess names, the ones seen longest ago.
func (n *Names) dropOldest(t *transaction.Tx, partition string) error {
	var kept int
	if err := t.One(countNames, partition)(&kept); err != nil || kept <= n.maxNames {
		return err
	}
	oldest, err := engine.Collect(t, engine.ScanOne[string], oldestNames, partition, kept-n.maxNames)
	if err != nil {
		return err
	}
	for _, principal := range oldest {
		if err := t.Later(dropName, partition, principal); err != nil {
			return err
		}
	}
	return nil
}

// Of returns the names of a tenant's callers by their folded ids. A caller without a known
// name is absent.
func (n *Names) Of(ctx context.Context, tenant string, principals []string) (map[string]string, error) {
	partition, found := memory.TenantPartition(tenant), map[string]string{}
	for some := range slices.Chunk(principals, engine.AmongAtOnce) {
		condition, args := engine.Among("principal", some, arm.Fold)
		err := n.database.Read(ctx).Each(func(scan engine.Scanner) error {
			var principal string
			var sealed []byte
			if err := scan(&principal, &sealed); err != nil {
				return err
			}
			name, err := n.database.Cipher.Decrypt(ctx, namePlace(partition, principal), sealed)
			if errors.Is(err, encryption.ErrDecrypt) {
				return nil // the key is lost
			}
			found[principal] = string(name)
			return err
		}, selectNames+condition, append([]any{partition}, args...)...)
		if err != nil {
			return nil, fmt.Errorf("read the names of callers: %w", err)
		}
	}
	return found, nil
}

// Forget deletes at most limit expired names, and returns how many.
func (n *Names) Forget(ctx context.Context, limit int) (int, error) {
	return engine.DeletePassed(ctx, n.database.Engine, expiredNames, forgetName, n.database.Now(), limit)
}
