package routing

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"portico/arm"
	"portico/inventory"
	"portico/inventory/index"
	"portico/inventory/memory"
	"portico/inventory/polls"
)

// mapIndex is an index made of a few maps.
type mapIndex struct {
	subscriptions map[string]inventory.Subscription
	groups        map[string]inventory.Group // by folded name
	registrations map[string]inventory.Registration
	rows          map[string]inventory.Resource
	cached        map[string]memory.Located
	operations    map[string]polls.Operation
	removalOpen   map[string]bool
	uncovered     map[string][]string // by type key
	// failing is the name of the method that fails
	failing string
}

var errDown = errors.New("the store is down")

const (
	tenant  = "11111111-0000-0000-0000-000000000001"
	subID   = "00000000-0000-0000-0000-00000000000a"
	moonSub = "00000000-0000-0000-0000-00000000000b"
)

// newMapIndex has a registered subscription with a group of two regions.
func newMapIndex() *mapIndex {
	m := &mapIndex{
		subscriptions: map[string]inventory.Subscription{
			subID:   {ID: subID, TenantID: tenant, Covered: true},
			moonSub: {ID: moonSub, TenantID: tenant, Covered: true},
		},
		groups: map[string]inventory.Group{
			"rg":    {Subscription: subID, Name: "rG", Key: "rg"},
			"empty": {Subscription: subID, Name: "empty", Key: "empty"},
		},
		registrations: map[string]inventory.Registration{"contoso.compute": {State: inventory.Registered, Registered: time.Unix(1, 0)}},
		rows:          map[string]inventory.Resource{},
		cached:        map[string]memory.Located{},
		operations:    map[string]polls.Operation{},
		removalOpen:   map[string]bool{},
		uncovered:     map[string][]string{},
	}
	m.add(vms+"/west", "contoso.compute/virtualmachines", "westus")
	m.add(vms+"/west/disks/d", "contoso.compute/virtualmachines/disks", "westus")
	m.add(vms+"/west/agents/a/snapshots/s", "contoso.compute/virtualmachines/agents/snapshots", "westus")
	m.add(vms+"/east", "contoso.compute/virtualmachines", "eastus")
	m.add(rg+compute+"/zones/z", "contoso.compute/zones", arm.GlobalLocation)
	return m
}

// add enters a row whose location is its region.
func (m *mapIndex) add(id, typeKey, region string) {
	var p arm.Path
	if err := p.Parse(id); err != nil {
		panic(err)
	}
	key := arm.Fold(p.String())
	m.rows[key] = inventory.Resource{
		Subscription: arm.Fold(p.Subscription()), Key: key, ID: id, Group: arm.Fold(p.Group()), Type: typeKey,
		Region: region, Location: region, Phase: index.Live, Generation: [16]byte{byte(len(m.rows) + 1)},
	}
}

// change edits the row of an id.
func (m *mapIndex) change(id string, edit func(*inventory.Resource)) {
	row := m.rows[arm.Fold(id)]
	edit(&row)
	m.rows[row.Key] = row
}

// cache makes memory say that a resource lies in region.
func (m *mapIndex) cache(id, region string) {
	m.cached[arm.Fold(id)] = memory.Located{Region: region, Found: true, Cached: true, Phase: index.Live, Generation: [16]byte{99}}
}

func lookup[V any](m *mapIndex, method string, from map[string]V, key string) (V, error) {
	value, ok := from[key]
	switch {
	case m.failing == method:
		return value, errDown
	case !ok:
		return value, inventory.ErrNotFound
	}
	return value, nil
}

func (m *mapIndex) Subscription(_ context.Context, id string) (inventory.Subscription, error) {
	return lookup(m, "Subscription", m.subscriptions, id)
}

func (m *mapIndex) Group(_ context.Context, subscription, name string) (inventory.Group, error) {
	group, err := lookup(m, "Group", m.groups, arm.Fold(name))
	if err == nil && group.Subscription != subscription {
		return inventory.Group{}, inventory.ErrNotFound
	}
	return group, err
}

func (m *mapIndex) Registration(_ context.Context, _, namespace string) (inventory.Registration, error) {
	r, err := lookup(m, "Registration", m.registrations, namespace)
	if errors.Is(err, inventory.ErrNotFound) {
		err = nil
	}
	r.Namespace = namespace
	return r, err
}

func (m *mapIndex) Resource(_ context.Context, subscription, key string) (inventory.Resource, error) {
	row, err := lookup(m, "Resource", m.rows, key)
	if err == nil && row.Subscription != subscription {
		return inventory.Resource{}, inventory.ErrNotFound
	}
	return row, err
}

func (m *mapIndex) Target(ctx context.Context, q inventory.TargetQuery) (inventory.Target, error) {
	var t inventory.Target
	var failed []error
	subscription, namespace, key := arm.Fold(q.Subscription), arm.Fold(q.Namespace), arm.Fold(q.Key)
	keep := func(err error) bool {
		if err != nil && !errors.Is(err, inventory.ErrNotFound) {
			failed = append(failed, err)
		}
		return err == nil
	}
	if found, err := m.Subscription(ctx, subscription); keep(err) {
		t.Subscription = &found
	}
	if found, err := m.Group(ctx, subscription, q.Group); keep(err) {
		t.Group = &found
	}
	if found, err := m.Registration(ctx, subscription, namespace); keep(err) {
		t.Registration = found
	}
	if found, err := m.Resource(ctx, subscription, key); keep(err) {
		t.Row = &found
	}
	return t, errors.Join(failed...)
}

func (m *mapIndex) ResourceAndRemoval(ctx context.Context, subscription, key string) (inventory.Resource, bool, error) {
	row, err := m.Resource(ctx, subscription, key)
	return row, m.removalOpen[key], err
}

func (m *mapIndex) Uncovered(_ context.Context, _, typeKey string, all []string) ([]string, error) {
	if m.failing == "Uncovered" {
		return nil, errDown
	}
	var uncovered []string
	for _, region := range all {
		if slices.Contains(m.uncovered[typeKey], region) {
			uncovered = append(uncovered, region)
		}
	}
	return uncovered, nil
}

func (m *mapIndex) Locate(_ context.Context, _ string, key []byte, _ time.Time) (memory.Located, error) {
	if m.failing == "Locate" {
		return memory.Located{}, errDown
	}
	if located, ok := m.cached[string(key)]; ok {
		return located, nil
	}
	row, ok := m.rows[string(key)]
	return memory.Located{Region: row.Region, Type: row.Type, Generation: row.Generation, Phase: row.Phase, Found: ok}, nil
}

func (m *mapIndex) MayHold(_ context.Context, subscription, group, typeKey string, given []string) (names []string, held bool, err error) {
	if m.failing == "MayHold" {
		return nil, false, errDown
	}
	found := map[string]bool{}
	for _, region := range given {
		if slices.Contains(m.uncovered[typeKey], region) {
			found[region] = true
		}
	}
	for _, row := range m.rows {
		if row.Subscription == subscription && (group == "" || row.Group == group) && row.Type == typeKey {
			found[row.Region], held = true, true
		}
	}
	return slices.Sorted(maps.Keys(found)), held, nil
}

func (m *mapIndex) OperationByIdentity(_ context.Context, _, identity, tenant, object string) (own polls.Operation, others bool, err error) {
	if m.failing == "OperationByIdentity" {
		return own, false, errDown
	}
	err = inventory.ErrNotFound
	for _, o := range m.operations {
		switch {
		case identity == "" || o.Identity != identity || o.UnknownOwner():
		case !o.BelongsTo(tenant, object):
			return polls.Operation{}, true, nil
		default:
			own, err = o, nil
		}
	}
	return own, false, err
}

func (m *mapIndex) OperationFor(_ context.Context, _, token, _, _ string) (polls.Operation, error) {
	return lookup(m, "Operation", m.operations, token)
}
