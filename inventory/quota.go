package inventory

import (
	"cmp"
	"database/sql"
	"errors"
	"slices"

	"portico/arm"
	"portico/inventory/engine"
)

// usage names what a quota counts: the resources of a type in a group, or, with
// neither, the groups of a subscription. Other counts use a name in place of the type
// that no type has.
type usage struct {
	subscription, group, typ string // folded
}

// What is counted beside groups and resources.
const (
	countedTagNames = "tag names"
	countedBatches  = "batch bytes" // of a caller, in the place of the group, or of all
)

func usageOfGroups(sub string) usage { return usage{subscription: arm.Fold(sub)} }

func (u usage) kind() QuotaKind {
	switch {
	case u.typ == "":
		return QuotaGroups
	case u.typ == countedTagNames:
		return QuotaTagNames
	case u.typ == countedBatches && u.group == "":
		return QuotaAllBatches
	case u.typ == countedBatches:
		return QuotaBatches
	}
	return QuotaResources
}

func (u usage) order(other usage) int {
	return cmp.Or(cmp.Compare(u.subscription, other.subscription), cmp.Compare(u.group, other.group), cmp.Compare(u.typ, other.typ))
}

const (
	addUsage = `INSERT INTO usage (subscription, grp, type, n) VALUES (?, ?, ?, ?)
		ON CONFLICT (subscription, grp, type) DO UPDATE SET n = usage.n + excluded.n WHERE usage.n + excluded.n <= ?`
	subtractUsage = `UPDATE usage SET n = CASE WHEN n > ? THEN n - ? ELSE 0 END WHERE subscription = ? AND grp = ? AND type = ?`
	usageFits     = `SELECT 1 / COUNT(*) FROM usage WHERE subscription = ? AND grp = ? AND type = ? AND n <= ?`
	selectUsage   = `SELECT n FROM usage WHERE subscription = ? AND grp = ? AND type = ?`
)

// tally is by how much a transaction changes each usage, and the limit that it has to
// keep. Many transactions change the same counts, so each changes them last, once,
// and in the same order.
type tally map[usage]*tallied

type tallied struct {
	by    int64
	limit int
}

func (t *tx) count(u usage, by int64, limit int) {
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

// raiseUsage counts one more, or returns *QuotaError at the limit; a limit of 0 only
// counts.
func raiseUsage(t *tx, u usage, limit int) error { return raiseUsageBy(t, u, 1, limit) }

// raiseUsageBy is raiseUsage for several at once.
func raiseUsageBy(t *tx, u usage, by int64, limit int) error {
	if !t.Isolated() || t.Proves() {
		t.count(u, by, limit)
		return nil
	}
	fits, err := addTo(t, u, tallied{by: by, limit: limit})
	if err != nil || fits {
		return err
	}
	refusal := &QuotaError{Kind: u.kind(), Limit: limit}
	if err := t.One(selectUsage, u.subscription, u.group, u.typ)(&refusal.Current); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	return refusal
}

func lowerUsage(t *tx, u usage) error { return lowerUsageBy(t, u, 1) }

func lowerUsageBy(t *tx, u usage, by int64) error {
	if !t.Isolated() || t.Proves() {
		t.count(u, -by, 0)
		return nil
	}
	return subtractFrom(t, u, by)
}

// settleUsage writes the tally; engine.ErrRunSeparately when that exceeds a limit, so
// that the members run one by one.
func (t *tx) settleUsage() error {
	changed := make([]usage, 0, len(t.tally))
	for u := range t.tally {
		changed = append(changed, u)
	}
	slices.SortFunc(changed, usage.order)
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

func addTo(t *tx, u usage, c tallied) (fits bool, err error) {
	limit := engine.AtMost(c.limit)
	if c.by > limit {
		return false, nil
	}
	n, err := t.Exec(addUsage, u.subscription, u.group, u.typ, c.by, limit)
	return n > 0, err
}

// addLater adds and has it proved that the limit is kept.
func addLater(t *tx, u usage, c tallied) error {
	err := t.Later(addUsage, u.subscription, u.group, u.typ, c.by, engine.AtMost(0))
	if err != nil || c.limit <= 0 {
		return err
	}
	return t.LookUpLater(engine.Proof(usageFits, u.subscription, u.group, u.typ, engine.AtMost(c.limit)))
}

func subtractFrom(t *tx, u usage, by int64) error {
	return t.Later(subtractUsage, by, by, u.subscription, u.group, u.typ)
}
