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

// Usage names a quota's count: the resources of a type in a group or, with neither, the
// groups of a subscription. Other counts use, in place of the type, a name that no type
// has.
type Usage struct {
	Subscription, Group, Type string // folded
}

// The names of the counts other than groups and resources.
const (
	TagNames   = "tag names"
	BatchBytes = "batch bytes" // of a caller, in the place of the group, or of all
)

// UsageOf names the resources of a type in a group. All is folded.
func UsageOf(sub, group, typ string) Usage { return Usage{sub, group, typ} }

// UsageOfGroups names the groups of a subscription.
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

// Lock is [Usage.Read], but locks the usage's row, if anything was ever counted.
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

func (u Usage) order(other Usage) int {
	return cmp.Or(cmp.Compare(u.Subscription, other.Subscription), cmp.Compare(u.Group, other.Group), cmp.Compare(u.Type, other.Type))
}

const (
	addUsage = `INSERT INTO usage (subscription, resource_group, type, used) VALUES (?, ?, ?, ?)
		ON CONFLICT (subscription, resource_group, type) DO UPDATE SET used = usage.used + excluded.used WHERE usage.used + excluded.used <= ?`
	subtractUsage = `UPDATE usage SET used = CASE WHEN used > ? THEN used - ? ELSE 0 END WHERE subscription = ? AND resource_group = ? AND type = ?`
	usageFits     = `SELECT 1 / COUNT(*) FROM usage WHERE subscription = ? AND resource_group = ? AND type = ? AND used <= ?`
	selectUsage   = `SELECT used FROM usage WHERE subscription = ? AND resource_group = ? AND type = ?`
)

// tally holds by how much a transaction changes each usage, and the limit that it has
// to keep. Many transactions change the same counts, so each changes them last, once,
// and in the same order.
type tally map[Usage]*tallied

type tallied struct {
	by    int64
	limit int
}

// CountUsage adds a change of a usage to the transaction's tally. The usage may rise up
// to a limit; with a limit of 0 it is only counted.
func (t *Tx) CountUsage(u Usage, by int64, limit int) {
	t.MarkChanged()
	if t.tally == nil {
		t.tally = tally{}
	}
	if t.tally[u] == nil {
		t.tally[u] = &tallied{}
	}
	t.tally[u].by += by
	if by > 0 && limit > 0 {
		t.tally[u].limit = limit
	}
}

// RaiseUsage raises a usage, or returns *QuotaError at the limit; with a limit of 0 it
// only counts.
func (t *Tx) RaiseUsage(u Usage, by int64, limit int) error {
	if !t.Isolated() || t.Proves() {
		t.CountUsage(u, by, limit)
		return nil
	}
	fits, err := addTo(t, u, tallied{by: by, limit: limit})
	if err != nil || fits {
		return err
	}
	current, err := u.Read(t)
	if err != nil {
		return err
	}
	return &QuotaError{Kind: u.Kind(), Limit: limit, Current: current}
}

// LowerUsage lowers a usage.
func (t *Tx) LowerUsage(u Usage, by int64) error {
	if !t.Isolated() || t.Proves() {
		t.CountUsage(u, -by, 0)
		return nil
	}
	return subtractFrom(t, u, by)
}

// SettleUsage writes the tally. If that exceeds a limit, it returns
// engine.ErrRunSeparately, so that the members run one by one.
func (t *Tx) SettleUsage() error {
	changed := make([]Usage, 0, len(t.tally))
	for u := range t.tally {
		changed = append(changed, u)
	}
	slices.SortFunc(changed, Usage.order)
	for _, u := range changed {
		c := *t.tally[u]
		delete(t.tally, u)
		switch {
		case c.by < 0:
			if err := subtractFrom(t, u, -c.by); err != nil {
				return err
			}
		case c.by > 0 && t.Proves():
			if err := addLater(t, u, c); err != nil {
				return err
			}
		case c.by > 0:
			if fits, err := addTo(t, u, c); err != nil {
				return err
			} else if !fits {
				return engine.ErrRunSeparately
			}
		}
	}
	return nil
}

func addTo(t *Tx, u Usage, c tallied) (fits bool, err error) {
	limit := engine.AtMost(c.limit)
	if c.by > limit {
		return false, nil
	}
	n, err := t.Exec(addUsage, u.Subscription, u.Group, u.Type, c.by, limit)
	return n > 0, err
}

// addLater adds to a usage, and adds a proof that the limit is kept.
func addLater(t *Tx, u Usage, c tallied) error {
	err := t.Later(addUsage, u.Subscription, u.Group, u.Type, c.by, engine.AtMost(0))
	if err != nil || c.limit <= 0 {
		return err
	}
	return t.LookUpLater(engine.Proof(usageFits, u.Subscription, u.Group, u.Type, engine.AtMost(c.limit)))
}

func subtractFrom(t *Tx, u Usage, by int64) error {
	return t.Later(subtractUsage, by, by, u.Subscription, u.Group, u.Type)
}

// QuotaKind names the limit that a QuotaError is about.
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
