package probe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"portico/arm"
	"portico/fanout"
	"portico/inventory"
	"portico/limits"
	"portico/regions"
	"portico/routing"
	"portico/tracing"
	"portico/upstream/answers"
)

// EmptinessCheck asks the providers of a group whether anything is left in it, before the
// group is deleted (see package inventory, rule R14). It serves one deletion, and is not
// safe for concurrent use.
type EmptinessCheck struct {
	Prober Prober
	// Identity holds the ids of its calls, and Share is as [upstream.Call].Caller. The
	// calls name no caller: what a provider hides from one exists all the same.
	Identity tracing.Identity
	Share    string
	Timeout  time.Duration // of one scan
	// Subscription is the group's, as the request or the job has read it; if it is zero,
	// each scan reads it.
	Subscription inventory.Subscription

	// What the last scan covered: every region and type that the group's writes reached.
	incarnation    [16]byte
	writtenRegions []inventory.WrittenRegion
	conclusive     bool // nothing changed meanwhile
}

// uncheckedError refuses to close a group that is empty by the index until its providers
// have been asked.
type uncheckedError struct {
	group          inventory.Group
	writtenRegions []inventory.WrittenRegion
}

func (e *uncheckedError) Error() string {
	return fmt.Sprintf("the providers of the resource group %s have not all been asked", e.group.Key)
}

// Allow allows the group to be deleted if the last scan covered everywhere its writes
// reached. If they reached nothing, and the index knows all resources of the
// subscription, no scan is needed. It runs in the closing transaction.
func (c *EmptinessCheck) Allow(group inventory.Group, touched []inventory.WrittenRegion) error {
	if len(touched) == 0 && c.Subscription.Covered {
		return nil
	}
	seen := c.conclusive && c.incarnation == group.Incarnation
	for _, touch := range touched {
		seen = seen && slices.Contains(c.writtenRegions, touch)
	}
	if !seen {
		return &uncheckedError{group, touched}
	}
	return nil
}

// Scan reports whether refusal is an error of Allow. If so, it lists the group's
// collections wherever this incarnation of the group ever sent a write, and wherever
// absence was not seen. The index adopts the resources it finds, which then prevent the
// deletion. An error means that the outcome is unknown: the group stays.
func (c *EmptinessCheck) Scan(ctx context.Context, refusal error) (looked bool, err error) {
	unchecked, ok := errors.AsType[*uncheckedError](refusal)
	if !ok {
		return false, nil
	}
	c.conclusive = false
	subscription := c.Subscription
	if subscription.ID == "" {
		if subscription, err = c.Prober.Store.Subscription(ctx, unchecked.group.Subscription); err != nil {
			return true, fmt.Errorf("read the subscription of a group: %w", err)
		}
	}
	l := groupScan{Prober: c.Prober, identity: c.Identity, subscription: subscription, group: unchecked.group}
	l.Prober.Share, l.Prober.Timeout, l.Prober.Newest = c.Share, c.Timeout, true
	places, err := l.places(ctx, unchecked.writtenRegions)
	if err != nil {
		return true, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	limits.ForEach(placesAtOnce, len(places), func(i int) { l.scanPlace(ctx, places[i]) })
	if len(l.failures) > 0 {
		return true, l.inconclusive(l.failures)
	}
	c.incarnation, c.writtenRegions, c.conclusive = unchecked.group.Incarnation, unchecked.writtenRegions, !l.changedMeanwhile
	return true, l.err
}

// placesAtOnce bounds the concurrent calls to providers for one group's deletion.
const placesAtOnce = 8

// mostAdopted bounds the resources that one scan adopts: one is enough to keep a group,
// and its next deletion finds the rest.
const mostAdopted = 100

// groupScan scans all places of a group, several at a time.
type groupScan struct {
	Prober
	identity     tracing.Identity
	subscription inventory.Subscription
	group        inventory.Group

	mu               sync.Mutex
	found            int
	changedMeanwhile bool // something changed meanwhile: the scan does not count
	failures         []regionFailure
	err              error // of the inventory
}

// place is a collection in the group: the collection of the last type below every
// instance of the types before it, which have no rows.
type place struct {
	types    []*regions.ResourceType
	endpoint *regions.Endpoint
}

// tracked returns the type whose resources are searched.
func (p place) tracked() *regions.ResourceType { return p.types[len(p.types)-1] }

// places lists the places to scan, each once. A place that has left the map cannot be
// scanned, so the group stays.
func (l *groupScan) places(ctx context.Context, touched []inventory.WrittenRegion) ([]place, error) {
	var places []place
	add := func(types []*regions.ResourceType, region string) error {
		p := place{types, types[len(types)-1].Endpoint(region)}
		if p.endpoint == nil {
			return l.missingEndpoint(p.tracked().FullName, region)
		}
		if !slices.ContainsFunc(places, func(known place) bool {
			return known.tracked() == p.tracked() && known.endpoint.Region == region
		}) {
			places = append(places, p)
		}
		return nil
	}
	for _, touch := range touched {
		t := l.Map.Type(touch.Type)
		if t == nil {
			return nil, l.missingEndpoint(touch.Type, touch.Region)
		}
		if err := add(downToTracked(t), touch.Region); err != nil {
			return nil, err
		}
	}
	if l.subscription.Covered {
		return places, nil
	}
	for _, provider := range l.Map.Providers() {
		for _, t := range provider.Types() {
			types := downToTracked(t)
			if t.Kind != regions.Tracked || types[len(types)-1] != t {
				continue // nested types are found by their parent
			}
			unseen, err := l.unseenRegions(ctx, t)
			if err != nil {
				return nil, err
			}
			for _, region := range unseen {
				if err := add(types, region); err != nil {
					return nil, err
				}
			}
		}
	}
	return places, nil
}

// unseenRegions returns the regions where the index may lack resources of the group: the
// ones where absence was not seen, or all if the store was restored since the group was
// created, as it may have forgotten where the group's writes went.
func (l *groupScan) unseenRegions(ctx context.Context, t *regions.ResourceType) ([]string, error) {
	if !l.group.Created.After(l.Store.Events.Restored()) {
		return t.EffectiveRegions(), nil
	}
	return l.Store.Coverage.Uncovered(ctx, l.subscription.ID, t.Key, t.EffectiveRegions())
}

// downToTracked lists the ancestors of t and t itself, from the top down to the first
// type whose instances have rows.
func downToTracked(t *regions.ResourceType) []*regions.ResourceType {
	var types []*regions.ResourceType
	for ; t != nil; t = t.Parent {
		types = append(types, t)
	}
	slices.Reverse(types)
	for i, t := range types {
		if t.Kind == regions.Tracked {
			return types[:i+1]
		}
	}
	return types
}

func (l *groupScan) inconclusive(failures []regionFailure) *arm.Error {
	return inconclusive(fmt.Sprintf("anything is left in the resource group '%s'", l.group.Name), l.scope(), failures)
}

func (l *groupScan) missingEndpoint(typeName, region string) *arm.Error {
	fault := arm.NewError(arm.NoRegisteredProviderFound, "", "", "", "", "").WithStatus(http.StatusServiceUnavailable)
	return l.inconclusive([]regionFailure{{
		region, fault.WithMessage("No endpoint is configured any more that serves the type '%s' in the location '%s', where the resource group "+
			"has, or had, resources. %s",
			typeName, region, MissingRegionRemedy(region)),
	}})
}

// scope returns the group's ID.
func (l *groupScan) scope() string { return routing.GroupID(l.subscription.ID, l.group.Name) }

func (l *groupScan) scanPlace(ctx context.Context, p place) {
	if fault := l.scanBelow(ctx, p, l.scope()+"/providers/"+p.tracked().Provider.Namespace, p.types); fault != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.failures = append(l.failures, regionFailure{p.endpoint.Region, fault})
	}
}

// scanBelow lists the collection of the first of types below a scope and, if its
// instances have no rows, the collections of the further types below each of them.
func (l *groupScan) scanBelow(ctx context.Context, p place, scope string, types []*regions.ResourceType) *arm.Error {
	t := types[0]
	target := scope + "/" + t.Name[strings.LastIndexByte(t.Name, '/')+1:]
	return l.list(ctx, p, t, target, func(id string) *arm.Error {
		if len(types) > 1 {
			return l.scanBelow(ctx, p, id, types[1:])
		}
		return l.adopt(ctx, p, id)
	})
}

// list reads a collection page by page and visits the ids in it that are in the group.
func (l *groupScan) list(ctx context.Context, p place, t *regions.ResourceType, target string, visit func(id string) *arm.Error) *arm.Error {
	namespace := t.Provider.Namespace
	c := fanout.Collection{
		Reader: l.Upstream, Endpoint: p.endpoint, Namespace: namespace, Public: l.Public,
		Query: "api-version=" + t.APIVersions[0], Header: l.header(), Caller: l.Share,
	}
	if err := c.Path.Parse(arm.PathOf(target)); err != nil {
		return arm.NewError(arm.InvalidProviderResponse, namespace, "the id of a resource is no path").WithCause(err)
	}
	c.Header.Set("Referer", answers.Referer(l.Public, c.Path.Escaped(), c.Query))
	inGroup := arm.Fold(l.scope()) + "/"
	err := c.Each(ctx, func(page fanout.Page) error {
		for _, element := range page.Elements {
			id := page.ID(element)
			if id == "" {
				return arm.NewError(arm.InvalidProviderResponse, namespace, "a resource in a list has no id")
			}
			if !strings.HasPrefix(arm.Fold(id), inGroup) {
				continue
			}
			if fault := visit(id); fault != nil {
				return fault
			}
		}
		return nil
	})
	if err == nil {
		return nil
	}
	if fault, ok := errors.AsType[*arm.Error](err); ok {
		return fault
	}
	return arm.NewError(arm.BadGatewayConnection, namespace).WithCause(err)
}

// adopt asks for a resource that a list showed, and lets the index adopt it unless the
// index has it there already.
func (l *groupScan) adopt(ctx context.Context, p place, id string) *arm.Error {
	l.mu.Lock()
	enough := l.found >= mostAdopted
	l.mu.Unlock()
	if enough {
		return nil
	}
	q, fault := routing.ClassifyID(l.Map, http.MethodGet, id)
	if fault == nil && (q.Class != routing.Instance || q.Type == nil) {
		fault = q.NotFound()
	}
	if fault != nil {
		return fault
	}
	row, err := l.Store.Resource(ctx, l.subscription.ID, q.Key())
	if err == nil && row.Region == p.endpoint.Region {
		return nil
	}
	seen, fault := l.probeListed(ctx, p, q, id)
	if fault != nil || seen == nil {
		return fault
	}
	result, err := l.Store.Adopt(ctx, *seen)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.found++
	l.changedMeanwhile = l.changedMeanwhile || result == inventory.TooYoung
	if err != nil {
		l.err = err
	}
	if result == inventory.Fenced { // the fence's job deletes it; until then it exists
		return arm.NewError(arm.Conflict).WithMessage("'%s' was created late, by a write to an earlier resource group of this name. It is being deleted.", id)
	}
	return nil
}

// probeListed asks for a resource that a list showed. It returns nil if the provider
// answers that it no longer exists; a fault means that there was no answer.
func (l *groupScan) probeListed(ctx context.Context, p place, q *routing.Request, id string) (*inventory.Discovery, *arm.Error) {
	since := l.Store.Now()
	answer, err := l.Get(ctx, l.header(), inventory.Resource{ID: id, TypeName: q.Type.FullName, Region: p.endpoint.Region})
	if err != nil {
		return nil, faultOf(err, q.Type.Provider.Namespace, p.endpoint.Region)
	}
	if answer.Status == http.StatusNotFound {
		return nil, nil
	}
	seen := NewDiscovery(l.Map, q, p.endpoint.Region, q.Type.APIVersions[0], answer.Body, since)
	return &seen, nil
}

// header returns the ids of a call.
func (l *groupScan) header() http.Header {
	header := http.Header{}
	l.identity.Stamp(header)
	return header
}
