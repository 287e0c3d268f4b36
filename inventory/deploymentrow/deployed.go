package deploymentrow

import (
	"context"
	"fmt"
	"slices"

	"portico/arm"
	"portico/inventory/engine"
	"portico/inventory/transaction"
)

// DeployedKept is how many resources of a scope have a record of what was deployed, and
// LongestDeployed how long such a record may be, in bytes. Of what has none a what-if compares
// the members that the template names.
const (
	DeployedKept    = 10_000
	LongestDeployed = 256 << 10
)

// Deployed is a resource that a deployment has made: what it sent, and what its provider
// answered in the end, in the form of whoever wrote it.
type Deployed struct {
	Subscription, Group, ID string // the group is empty below a subscription
	Record                  []byte // empty: there is none
}

const (
	putDeployed = `INSERT INTO deployed (subscription, resource_group, key, at, record) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (subscription, key) DO UPDATE SET at = excluded.at, record = excluded.record`
	selectDeployed = `SELECT key, record FROM deployed WHERE subscription = ?`
	boundDeployed  = `DELETE FROM deployed WHERE subscription = ? AND resource_group = ? ` +
		`AND at < (SELECT at FROM deployed WHERE subscription = ? AND resource_group = ? ORDER BY at DESC LIMIT 1 OFFSET ?)`

	// ForgetDeployed forgets what was deployed of one resource.
	ForgetDeployed = `DELETE FROM deployed WHERE subscription = ? AND key = ?`
	// DeployedOfGroup forgets that of a group.
	DeployedOfGroup = `DELETE FROM deployed WHERE subscription = ? AND resource_group = ?`
)

// deployedAt binds what is encrypted to where it stands.
func deployedAt(sub, key string) []byte { return []byte("deployed " + sub + " " + key) }

// put records what was deployed in the transaction that ends its step. Where there is no
// record, or it is too long, the one before goes too: it is no longer what was sent last.
func (r *Deployed) put(ctx context.Context, d *Deployments) (func(t *transaction.Tx) error, error) {
	sub, key := arm.Fold(r.Subscription), arm.Fold(r.ID)
	if len(r.Record) == 0 || len(r.Record) > LongestDeployed {
		return func(t *transaction.Tx) error { return t.Later(ForgetDeployed, sub, key) }, nil
	}
	record, err := d.database.Cipher.Encrypt(ctx, deployedAt(sub, key), r.Record)
	return func(t *transaction.Tx) error {
		return t.Later(putDeployed, sub, arm.Fold(r.Group), key, engine.Micros(t.Now), record)
	}, err
}

// Deployed returns the records of resources of a subscription that deployments have made, by
// their folded IDs.
func (d *Deployments) Deployed(ctx context.Context, sub string, ids []string) (map[string][]byte, error) {
	sub = arm.Fold(sub)
	records := map[string][]byte{}
	for some := range slices.Chunk(ids, engine.AmongAtOnce) {
		among, args := engine.Among("key", some, arm.Fold)
		err := d.database.Read(ctx).Each(func(scan engine.Scanner) error {
			var key string
			var record []byte
			if err := scan(&key, &record); err != nil {
				return err
			}
			var err error
			records[key], err = d.database.Cipher.Decrypt(ctx, deployedAt(sub, key), record)
			return err
		}, selectDeployed+among, append([]any{sub}, args...)...)
		if err != nil {
			return nil, fmt.Errorf("read what was deployed: %w", err)
		}
	}
	return records, nil
}
