package transaction

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"portico/arm"
	"portico/inventory/engine"
)

// Usage names a count that a quota bounds: the resources of a type in a group or, without
// both, the groups of a subscription. Other counts have a name in place of the type that no
// type has.
type Usage struct {
	Subscription, Group, Type string // folded
}

// The names of the counts other than groups and resources.
const (
	TagNames   = "tag names"
	BatchBytes = "batch bytes" // of the caller in place of the group, or of all callers
)

// UsageOf returns the Usage of a type's resources in a group. All names are folded.
func UsageOf(sub, group, typ string) Usage { return Usage{sub, group, typ} }

// UsageOfGroups returns the Usage of a subscription's groups.
func UsageOfGroups(sub string) Usage { return Usage{Subscription: arm.Fold(sub)} }

// Kind returns the quota that bounds the usage.
func (u Usage) Kind() QuotaKind {
	switch {
	case u.Type == "":
		return QuotaGroups
	case u.Type == TagNames:
		return QuotaTagNames
	case u.Type == BatchBytes && u.Group == "":
		return QuotaAllBatches
	case u.Type == BatchBytes:
		return QuotaBatches
	}
	return QuotaResources
}

// Read returns the amount used.
func (u Usage) Read(from engine.Source) (n int, err error) {
	return u.read(from, selectUsage)
}

// Lock returns the amount used and locks the usage's row, if there is one yet.
func (u Usage) Lock(from engine.Source) (n int, err error) {
	return u.read(from, selectUsage+engine.ForUpdate)
}

func (u Usage) read(from engine.Source, statement string) (n int, err error) {
	err = from.One(statement, u.Subscription, u.Group, u.Type)(&n)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return n, err
}

func (u Usage) compare(other Usage) int {
	return cmp.Or(cmp.Compare(u.Subscription, other.Subscription), cmp.Compare(u.Group, other.Group), cmp.Compare(u.Type, other.Type))
}

const (
	addUsage = `INSERT INTO usage (subscription, resource_group, type, used) VALUES (?, ?, ?, ?)
		ON CONFLICT (subscription, resource_group, type) DO UPDATE SET used = usage.used + excluded.used WHERE usage.used + excluded.used <= ?`
	subtractUsage = `UPDATE usage SET used = CASE WHEN used > ? THEN used - ? ELSE 0 END WHERE subscription = ? AND resource_group = ? AND type = ?`
	usageFits     = `SELECT 1 / COUNT(*) FROM usage WHERE subscription = ? AND resource_group = ? AND type = ? AND used <= ?`
	selectUsage   = `SELECT used FROM usage WHERE subscription = ? AND resource_group = ? AND type = ?`
)

// tally holds the changes of usage that a transaction makes at its end. Many transactions
// change the same counts, so each changes them last, once, and in the same order.
type tally map[Usage]*usageChange

type usageChange struct {
	by    int64
	limit int
}

// CountUsage adds a change of a usage to the transaction's tally. limit bounds the usage
// if the change raises it; 0 means no limit.
func (t *Tx) CountUsage(u Usage, by int64, limit int) {
	t.MarkChanged()
	if t.tally == nil {
		t.tally = tally{}
	}
	if t.tally[u] == nil {
		t.tally[u] = &usageChange{}
	}
	t.tally[u].by += by
	if by > 0 && limit > 0 {
		t.tally[u].limit = limit
	}
}

// RaiseUsage raises a usage, or returns *QuotaError if that would exceed the limit; 0 means
// no limit.
func (t *Tx) RaiseUsage(u Usage, by int64, limit int) error {
	if !t.Isolated() || t.Proves() {
		t.CountUsage(u, by, limit)
		return nil
	}
	fits, err := addWithinLimit(t, u, usageChange{by: by, limit: limit})
	if err != nil || fits {
		return err
	}
	current, err := u.Read(t)
	if err != nil {
		return err
	}
	return &QuotaError{Kind: u.Kind(), Limit: limit, Current: current}
}

// LowerUsage lowers a usage, at most to 0.
func (t *Tx) LowerUsage(u Usage, by int64) error {
	if !t.Isolated() || t.Proves() {
		t.CountUsage(u, -by, 0)
		return nil
	}
	return subtractUsageOf(t, u, by)
}

// SettleUsage writes the tally. If that exceeds a limit, it returns
// engine.ErrRunSeparately, so that the members run separately.
func (t *Tx) SettleUsage() error {
	changed := make([]Usage, 0, len(t.tally))
	for u := range t.tally {
		changed = append(changed, u)
	}
	slices.SortFunc(changed, Usage.compare)
	for _, u := range changed {
		c := *t.tally[u]
		delete(t.tally, u)
		switch {
		case c.by < 0:
			if err := subtractUsageOf(t, u, -c.by); err != nil {
				return err
			}
		case c.by > 0 && t.Proves():
			if err := addWithProof(t, u, c); err != nil {
				return err
			}
		case c.by > 0:
			if fits, err := addWithinLimit(t, u, c); err != nil {
				return err
			} else if !fits {
				return engine.ErrRunSeparately
			}
		}
	}
	return nil
}

func addWithinLimit(t *Tx, u Usage, c usageChange) (fits bool, err error) {
	limit := engine.LimitArg(c.limit)
	if c.by > limit {
		return false, nil
	}
	n, err := t.Exec(addUsage, u.Subscription, u.Group, u.Type, c.by, limit)
	return n > 0, err
}

// addWithProof raises a usage, and looks up a proof that it is within the limit.
func addWithProof(t *Tx, u Usage, c usageChange) error {
	err := t.Later(addUsage, u.Subscription, u.Group, u.Type, c.by, engine.LimitArg(0))
	if err != nil || c.limit <= 0 {
		return err
	}
	return t.LookUpLater(engine.Proof(usageFits, u.Subscription, u.Group, u.Type, engine.LimitArg(c.limit)))
}

func subtractUsageOf(t *Tx, u Usage, by int64) error {
	return t.Later(subtractUsage, by, by, u.Subscription, u.Group, u.Type)
}

// QuotaKind names the limit that a QuotaError reports.
type QuotaKind uint8

const (
	// QuotaResources limits the resources of one type in one group.
	QuotaResources QuotaKind = iota
	// QuotaGroups limits the resource groups of one subscription.
	QuotaGroups
	// QuotaLocks limits the locks on one scope.
	QuotaLocks
	// QuotaAllLocks limits the locks in one subscription.
	QuotaAllLocks
	// QuotaTagNames limits the names and values of tags that are defined in one
	// subscription.
	QuotaTagNames
	// QuotaBatches limits the bytes of the polled batches of one caller.
	QuotaBatches
	// QuotaAllBatches limits the bytes of all polled batches.
	QuotaAllBatches
	// QuotaRoleAssignments limits the role assignments in one subscription.
	QuotaRoleAssignments
	// QuotaTenantRoleAssignments limits the role assignments at one tenant itself.
	QuotaTenantRoleAssignments
	// QuotaRoleDefinitions limits the custom roles of one tenant.
	QuotaRoleDefinitions
)

func (k QuotaKind) String() string {
	switch k {
	case QuotaGroups:
		return "resource groups per subscription"
	case QuotaLocks:
		return "locks per scope"
	case QuotaAllLocks:
		return "locks per subscription"
	case QuotaTagNames:
		return "names and values of tags per subscription"
	case QuotaBatches:
		return "bytes of a caller's batches"
	case QuotaAllBatches:
		return "bytes of all batches"
	case QuotaRoleAssignments:
		return "role assignments per subscription"
	case QuotaTenantRoleAssignments:
		return "role assignments at a tenant"
	case QuotaRoleDefinitions:
		return "custom roles per tenant"
	case QuotaResources:
	}
	return "resources per type and resource group"
}

// QuotaError refuses a change that would exceed a limit.
type QuotaError struct {
	Kind           QuotaKind
	Limit, Current int
}

func (e *QuotaError) Error() string {
	return fmt.Sprintf("inventory: %s: %d of %d are in use", e.Kind, e.Current, e.Limit)
}
