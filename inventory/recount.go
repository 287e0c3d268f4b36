package inventory

import (
	"context"

	"portico/inventory/engine"
	"portico/inventory/transaction"
)

// Miscount is a recorded usage of a quota that differs from the number of rows: the
// resources of a type in a group or, without them, the groups of the subscription.
type Miscount struct {
	Group, Type     string // folded
	Counted, Actual int
}

const (
	countTypes = `SELECT type, COUNT(*) FROM resources WHERE subscription = ? AND resource_group = ? GROUP BY type`
	countType  = `SELECT COUNT(*) FROM resources WHERE subscription = ? AND resource_group = ? AND type = ?`
	countAll   = `SELECT COUNT(*) FROM resource_groups WHERE subscription = ?`
	listUsage  = `SELECT type, used FROM usage WHERE subscription = ? AND resource_group = ? AND type <> ''`
	// haveUsage creates the row that is locked.
	haveUsage = `INSERT INTO usage (subscription, resource_group, type, used) VALUES (?, ?, ?, 0)
		ON CONFLICT (subscription, resource_group, type) DO NOTHING`
	setUsage = `UPDATE usage SET used = ? WHERE subscription = ? AND resource_group = ? AND type = ?`
)

// groupsAtOnce is how many groups Recount checks between two checks of ctx.
const groupsAtOnce = 100

// Recount compares the usage of a subscription's quotas with the rows, group by group, and
// returns the differences. If mend is set it corrects them; it locks one usage at a time
// while it counts.
func (s *Store) Recount(ctx context.Context, sub string, mend bool) ([]Miscount, error) {
	all := []transaction.Usage{transaction.UsageOfGroups(sub)}
	var off []Miscount
	for after := ""; ; {
		groups, err := s.Groups(ctx, GroupQuery{Subscription: sub, After: after, Limit: groupsAtOnce})
		if err != nil {
			return off, err
		}
		for _, g := range groups {
			counted, err := differingUsages(s.engine.Read(ctx), g.Subscription, g.Key)
			if err != nil {
				return off, err
			}
			all, after = append(all, counted...), g.Key
		}
		for _, u := range all {
			found, err := s.recount(ctx, u, mend)
			if err != nil {
				return off, err
			}
			if found.Counted != found.Actual {
				off = append(off, found)
			}
		}
		if all = all[:0]; len(groups) < groupsAtOnce {
			return off, nil
		}
	}
}

// differingUsages returns the quotas of a group whose usage seems to differ from the rows.
// It may be wrong, because it reads the two at different times.
func differingUsages(from engine.Source, sub, group string) ([]transaction.Usage, error) {
	type count struct {
		typ string
		n   int64
	}
	scan := func(scan engine.Scanner) (c count, err error) {
		err = scan(&c.typ, &c.n)
		return c, err
	}
	actual, err := engine.Collect(from, scan, countTypes, sub, group)
	if err != nil {
		return nil, err
	}
	counted, err := engine.Collect(from, scan, listUsage, sub, group)
	if err != nil {
		return nil, err
	}
	differ := map[string]int64{}
	for _, c := range actual {
		differ[c.typ] += c.n
	}
	for _, c := range counted {
		differ[c.typ] -= c.n
	}
	var off []transaction.Usage
	for typ, by := range differ {
		if by != 0 {
			off = append(off, transaction.UsageOf(sub, group, typ))
		}
	}
	return off, nil
}

// recount counts the rows of a quota again, and corrects its usage if mend is set. It locks
// the usage first: a write that changed rows but not yet the usage has to wait, or has
// committed both.
func (s *Store) recount(ctx context.Context, u transaction.Usage, mend bool) (Miscount, error) {
	found, err := compareUsage(s.engine.Read(ctx), u, u.Read)
	if err != nil || !mend || found.Counted == found.Actual {
		return found, err
	}
	// This is a transaction of its own, because a row cannot be locked before it exists.
	if err := s.write(ctx, engine.Unflushed, transaction.RecordLocks(u.Subscription), func(t *tx) error {
		return t.Later(haveUsage, u.Subscription, u.Group, u.Type)
	}); err != nil {
		return found, err
	}
	return commit(ctx, s, engine.Unflushed, transaction.RecordLocks(u.Subscription), func(t *tx) (Miscount, error) {
		// The count includes the changed rows of the transaction's other members.
		if err := t.SettleUsage(); err != nil {
			return found, err
		}
		found, err := compareUsage(t, u, u.Lock)
		if err != nil || found.Counted == found.Actual {
			return found, err
		}
		_, err = t.Exec(setUsage, found.Actual, u.Subscription, u.Group, u.Type)
		return found, err
	})
}

func compareUsage(from engine.Source, u transaction.Usage, counted func(engine.Source) (int, error)) (found Miscount, err error) {
	found = Miscount{Group: u.Group, Type: u.Type}
	if found.Counted, err = counted(from); err != nil {
		return found, err
	}
	if u.Kind() == transaction.QuotaGroups {
		return found, from.One(countAll, u.Subscription)(&found.Actual)
	}
	return found, from.One(countType, u.Subscription, u.Group, u.Type)(&found.Actual)
}
