package inventory

import "portico/arm"

// usage is what a quota counts: the resources of a type in a group, or, with
// neither, the groups of a subscription.
type usage struct {
	subscription, group, typ string // folded
}

func usageOfGroups(sub string) usage { return usage{subscription: arm.Fold(sub)} }

func (u usage) kind() QuotaKind {
	if u.typ == "" {
		return QuotaGroups
	}
	return QuotaResources
}

const (
	addUsage = `INSERT INTO usage (subscription, grp, type, n) VALUES (?, ?, ?, 1)
		ON CONFLICT (subscription, grp, type) DO UPDATE SET n = usage.n + 1 WHERE usage.n + 1 <= ?`
	subtractUsage = `UPDATE usage SET n = n - 1 WHERE subscription = ? AND grp = ? AND type = ? AND n > 0`
	selectUsage   = `SELECT n FROM usage WHERE subscription = ? AND grp = ? AND type = ?`
)

// raiseUsage counts one more, or returns *QuotaError at the limit; a limit of
// 0 only counts.
func raiseUsage(t *tx, u usage, limit int) error {
	n, err := t.exec(addUsage, u.subscription, u.group, u.typ, atMost(limit))
	if err != nil || n > 0 {
		return err
	}
	refusal := &QuotaError{Kind: u.kind(), Limit: limit}
	if err := t.one(selectUsage, u.subscription, u.group, u.typ)(&refusal.Current); err != nil {
		return err
	}
	return refusal
}

func lowerUsage(t *tx, u usage) error {
	_, err := t.exec(subtractUsage, u.subscription, u.group, u.typ)
	return err
}
