package deploymentrow

import (
	"context"
	"fmt"
	"slices"

	"portico/arm"
	"portico/inventory/engine"
	"portico/inventory/transaction"
)

// DeployedKept bounds the records of deployed resources in a scope, and LongestDeployed the
// length of a record in bytes. For a resource without a record, what-if compares only the
// properties that the template names.
const (
	DeployedKept    = 10_000
	LongestDeployed = 256 << 10
)

// Deployed is the record of a resource that a deployment created or changed: the request
// and the provider's final answer, in the caller's format.
type Deployed struct {
	Subscription, Group, ID string // Group is empty for a deployment at the subscription
	Record                  []byte // empty: none
}

const (
	putDeployed = `INSERT INTO deployed (subscription, resource_group, key, at, record) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (subscription, key) DO UPDATE SET at = excluded.at, record = excluded.record`
	selectDeployed     = `SELECT key, record FROM deployed WHERE subscription = ?`
	dropOldestDeployed = `DELETE FROM deployed WHERE subscription = ? AND resource_group = ? ` +
		`AND at < (SELECT at FROM deployed WHERE subscription = ? AND resource_group = ? ORDER BY at DESC LIMIT 1 OFFSET ?)`

	// ForgetDeployed deletes the record of one resource.
	ForgetDeployed = `DELETE FROM deployed WHERE subscription = ? AND key = ?`
	// DeployedOfGroup deletes the records of a group's resources.
	DeployedOfGroup = `DELETE FROM deployed WHERE subscription = ? AND resource_group = ?`
)

// deployedPlace returns the place that encryption binds a resource's record to.
func deployedPlace(sub, key string) []byte { return []byte("deployed " + sub + " " + key) }

// preparePut encrypts the record and returns a function that stores it, in the transaction
// that ends its step. If the record is empty or too long, the function deletes the former
// record, which is out of date.
func (r *Deployed) preparePut(ctx context.Context, d *Deployments) (func(t *transaction.Tx) error, error) {
	sub, key := arm.Fold(r.Subscription), arm.Fold(r.ID)
	if len(r.Record) == 0 || len(r.Record) > LongestDeployed {
		return func(t *transaction.Tx) error { return t.Later(ForgetDeployed, sub, key) }, nil
	}
	record, err := d.database.Cipher.Encrypt(ctx, deployedPlace(sub, key), r.Record)
	return func(t *transaction.Tx) error {
		return t.Later(putDeployed, sub, arm.Fold(r.Group), key, engine.Micros(t.Now), record)
	}, err
}

// Deployed returns the records of deployed resources of a subscription, by their folded IDs.
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
			records[key], err = d.database.Cipher.Decrypt(ctx, deployedPlace(sub, key), record)
			return err
		}, selectDeployed+among, append([]any{sub}, args...)...)
		if err != nil {
			return nil, fmt.Errorf("read what was deployed: %w", err)
		}
	}
	return records, nil
}
