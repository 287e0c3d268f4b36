package inventory

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"portico/arm"
	"portico/inventory/engine"
	"portico/inventory/transaction"
)

// UnnotifiedRegionsError refuses to recreate a subscription while endpoints that the region
// map lacks do not know of its deletion. Their resources would appear in the new
// subscription, or a late notification would delete resources of the new one.
type UnnotifiedRegionsError struct {
	Regions []string // sorted
}

func (e *UnnotifiedRegionsError) Error() string {
	return "inventory: the deleted subscription was not told of in " + strings.Join(e.Regions, ", ")
}

func (e *UnnotifiedRegionsError) Unwrap() error { return ErrErasing }

const (
	insertAbsent = `INSERT INTO absent_endpoints (subscription, namespace, region, address) VALUES (?, ?, ?, ?)
		ON CONFLICT (subscription, namespace, region, address) DO NOTHING`
	listAbsent   = `SELECT namespace, region, address FROM absent_endpoints WHERE subscription = ? ORDER BY region, namespace, address`
	deleteAbsent = `DELETE FROM absent_endpoints WHERE subscription = ? AND namespace = ? AND region = ?`
	nextAbsent   = `SELECT namespace, region FROM absent_endpoints WHERE (namespace, region) > (?, ?)
		ORDER BY namespace, region LIMIT 1`
	absentFrom = `SELECT DISTINCT subscription FROM absent_endpoints WHERE namespace = ? AND region = ?
		ORDER BY subscription LIMIT ?`

	nextPlaceOfRows = `SELECT type, region FROM resources WHERE subscription = ? AND (type, region) > (?, ?)
		ORDER BY type, region LIMIT 1`
	placesWritten  = `SELECT DISTINCT type, region FROM written_regions WHERE subscription = ?`
	placesOfStrays = `SELECT DISTINCT type, region FROM strays WHERE subscription = ?`
)

func scanAbsent(scan engine.Scanner) (a NotificationTarget, err error) {
	err = scan(&a.Namespace, &a.Region, &a.Address)
	return a, err
}

// UnnotifiedRegions returns, sorted, the regions with endpoints that the region map lacks
// and that do not know the newest version of a subscription.
func (notices *Notices) UnnotifiedRegions(ctx context.Context, sub string) ([]string, error) {
	return unnotifiedRegions(notices.store.engine.Read(ctx), arm.Fold(sub))
}

func unnotifiedRegions(from engine.Source, sub string) (regions []string, err error) {
	absent, err := engine.Collect(from, scanAbsent, listAbsent, sub)
	for _, a := range absent {
		regions = append(regions, a.Region)
	}
	return slices.Compact(regions), err
}

// checkRecreate refuses to recreate a deleted subscription while an endpoint has not
// confirmed its deletion.
func (t *tx) checkRecreate(sub string) error {
	if open, err := countNotices(t, sub, everyNamespace); err != nil {
		return err
	} else if open > 0 {
		return ErrErasing
	}
	regions, err := unnotifiedRegions(t, sub)
	if err == nil && len(regions) > 0 {
		err = &UnnotifiedRegionsError{Regions: regions}
	}
	return err
}

func (t *tx) putAbsent(sub string, a NotificationTarget) error {
	return t.Later(insertAbsent, sub, a.Namespace, a.Region, a.Address)
}

// recordAbsent records the endpoints that the map lacked when the subscription was deleted:
// they were never notified, but may have resources of it.
func (t *tx) recordAbsent(sub string) error {
	known, err := loadTargets(t, sub)
	if err != nil {
		return err
	}
	absent, err := engine.Collect(t, scanAbsent, listAbsent, sub)
	if err != nil {
		return err
	}
	places, err := t.placesWithResources(sub)
	if err != nil {
		return err
	}
	known = append(known, absent...)
	for _, place := range places {
		namespace, _, _ := strings.Cut(place.Type, "/")
		at := NotificationTarget{Namespace: namespace, Region: place.Region}
		if known.serves(at) {
			continue
		}
		known = append(known, at)
		if err := t.putAbsent(sub, at); err != nil {
			return err
		}
	}
	return nil
}

// serves reports whether any of the targets has the namespace and the region.
func (a targetList) serves(at NotificationTarget) bool {
	return slices.ContainsFunc(a, func(one NotificationTarget) bool { return one.Namespace == at.Namespace && one.Region == at.Region })
}

// placesWithResources lists the types and regions of a subscription's present and past
// resources.
func (t *tx) placesWithResources(sub string) ([]WrittenRegion, error) {
	places, err := engine.Collect(t, scanWrittenRegion, placesWritten, sub)
	if err != nil {
		return nil, err
	}
	strays, err := engine.Collect(t, scanWrittenRegion, placesOfStrays, sub)
	if err != nil {
		return nil, err
	}
	places = append(places, strays...)
	for last := (WrittenRegion{}); ; places = append(places, last) { // one step in the index each
		last, err = scanWrittenRegion(t.One(nextPlaceOfRows, sub, last.Type, last.Region))
		if errors.Is(err, sql.ErrNoRows) {
			return places, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// NotifyReturned notifies endpoints of the changes that they missed while the region map
// lacked their region. It does so for at most limit subscriptions, and returns for how
// many. present has the endpoints of the map.
func (notices *Notices) NotifyReturned(ctx context.Context, present []NotificationTarget, limit int) (notified int, err error) {
	from := notices.store.engine.Read(ctx)
	for at := (NotificationTarget{}); notified < limit; {
		err := from.One(nextAbsent, at.Namespace, at.Region)(&at.Namespace, &at.Region)
		if errors.Is(err, sql.ErrNoRows) {
			return notified, nil
		}
		if err != nil {
			return notified, err
		}
		back := slices.DeleteFunc(slices.Clone(present), func(a NotificationTarget) bool { return !targetList{a}.serves(at) })
		if len(back) == 0 {
			continue
		}
		subs, err := engine.Collect(from, engine.ScanOne[string], absentFrom, at.Namespace, at.Region, limit-notified)
		if err != nil {
			return notified, err
		}
		for _, sub := range subs {
			if err := notices.notifyReturned(ctx, sub, at, back); err != nil {
				return notified, err
			}
			notified++
		}
	}
	return notified, nil
}

// notifyReturned notifies the endpoints of a returned region of one subscription.
func (notices *Notices) notifyReturned(ctx context.Context, sub string, at NotificationTarget, back targetList) error {
	return notices.store.write(ctx, engine.Flushed, transaction.SubscriptionLocks(sub), func(t *tx) error {
		current, err := loadSubscription(t, lockSubscription, sub)
		if err != nil {
			return engine.OrNotFound(err)
		}
		if n, err := t.Exec(deleteAbsent, current.ID, at.Namespace, at.Region); err != nil || n == 0 {
			return err // another replica was faster
		}
		if !current.Erased {
			if err := t.addTargets(current.ID, back); err != nil {
				return err
			}
		}
		return t.addNotices(current.ID, back)
	})
}

// addTargets adds endpoints to the list of those that are notified of changes.
func (t *tx) addTargets(sub string, more targetList) error {
	known, err := loadTargets(t, sub)
	if err != nil {
		return err
	}
	fresh := slices.DeleteFunc(slices.Clone(more), known.has)
	if len(fresh) == 0 {
		return nil
	}
	return append(known, fresh...).put(t, sub)
}
