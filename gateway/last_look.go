package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"portico/arm"
	"portico/fanout"
	"portico/inventory"
	"portico/limits"
	"portico/locate"
	"portico/regions"
	"portico/routing"
)

// lastLook is where a group's collections have been looked at, after which it
// may go (see package inventory, rule R14).
type lastLook struct {
	incarnation [16]byte
	touched     []inventory.Touch // all that was looked at for its writes' sake
	taken       bool
}

// unlooked refuses to close a group that is empty by the index, as long as its
// providers have not been asked.
type unlooked struct {
	group   inventory.Group
	touched []inventory.Touch
}

func (u *unlooked) Error() string {
	return fmt.Sprintf("the resource group %s was not looked at everywhere", u.group.Key)
}

// judge lets a group go whose every touched place was looked at. It runs in the
// closing transaction.
func (l lastLook) judge(group inventory.Group, touched []inventory.Touch) error {
	seen := l.taken && l.incarnation == group.Incarnation
	for _, touch := range touched {
		seen = seen && slices.Contains(l.touched, touch)
	}
	if !seen {
		return &unlooked{group, touched}
	}
	return nil
}

// askedAtOnce bounds the questions to providers on behalf of one group delete.
const askedAtOnce = 8

// mostFound is how many resources one look takes over: one is enough to hold a
// group back, and its next delete finds the rest.
const mostFound = 100

// place is a collection of a group to be looked at: that of the last type,
// below every instance of those before it, which have no rows.
type place struct {
	types    []*regions.ResourceType
	endpoint *regions.Endpoint
}

// tracked is the type whose resources are looked for.
func (p place) tracked() *regions.ResourceType { return p.types[len(p.types)-1] }

// lookAgain lists the group's collections wherever this incarnation of it ever
// sent a write, and wherever absence was not seen. What is found there is
// adopted, and will hold the group back. An error means that nothing can be
// said, and that the group stays.
func (g *Gateway) lookAgain(ctx context.Context, x *exchange, c ownCall, at *unlooked) (lastLook, error) {
	c.Group = at.group
	places, err := g.placesOf(ctx, c, at.touched)
	if err != nil {
		return lastLook{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, g.config.Upstream.CallTimeout)
	defer cancel()
	l := looking{gateway: g, exchange: x, call: c}
	limits.ForEach(askedAtOnce, len(places), func(i int) { l.at(ctx, places[i]) })
	if len(l.silent) > 0 {
		return lastLook{}, unsaid(fmt.Sprintf("anything is left in the resource group '%s'", at.group.Name), x.request.Path.String(), l.silent)
	}
	return lastLook{incarnation: at.group.Incarnation, touched: at.touched, taken: !l.again}, l.err
}

// placesOf lists where to look, each place once. One that has left the map
// cannot be looked at, so the group stays.
func (g *Gateway) placesOf(ctx context.Context, c ownCall, touched []inventory.Touch) ([]place, error) {
	var places []place
	add := func(types []*regions.ResourceType, region string) error {
		p := place{types, types[len(types)-1].Endpoint(region)}
		if p.endpoint == nil {
			return unconfigured(c.Group, p.tracked().FullName, region)
		}
		if !slices.ContainsFunc(places, func(known place) bool {
			return known.tracked() == p.tracked() && known.endpoint.Region == region
		}) {
			places = append(places, p)
		}
		return nil
	}
	for _, touch := range touched {
		t := g.declared(touch.Type)
		if t == nil {
			return nil, unconfigured(c.Group, touch.Type, touch.Region)
		}
		if err := add(downToTracked(t), touch.Region); err != nil {
			return nil, err
		}
	}
	if c.Subscription.Covered {
		return places, nil
	}
	for _, provider := range g.router.Map.Providers() {
		for _, t := range provider.Types() {
			types := downToTracked(t)
			if t.Kind != regions.Tracked || types[len(types)-1] != t {
				continue // what is nested is found by its parent
			}
			unseen, err := g.store.Uncovered(ctx, c.Subscription.ID, t.Key, t.EffectiveRegions())
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

// declared returns the type of a folded full name, or nil.
func (g *Gateway) declared(key string) *regions.ResourceType {
	namespace, name, _ := strings.Cut(key, "/")
	if provider := g.router.Map.Provider(namespace); provider != nil {
		return provider.TypeNamed(name)
	}
	return nil
}

// downToTracked lists the types above t, and t itself, from the top down to the
// first whose instances have rows.
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

func unconfigured(group inventory.Group, typeName, region string) *arm.Error {
	return unsaid(fmt.Sprintf("anything is left in the resource group '%s'", group.Name), routing.GroupID(group.Subscription, group.Name), []silence{{
		region, arm.NewError(arm.NoRegisteredProviderFound, "", "", "", "", "").WithStatus(http.StatusServiceUnavailable).
			Saying("No endpoint is configured any more that serves the type '%s' in the location '%s', where the resource group has, or had, resources. %s", typeName, region, locate.MissingRegionRemedy(region)),
	}})
}

// looking is one last look under way. Its places are worked on at the same time.
type looking struct {
	gateway  *Gateway
	exchange *exchange
	call     ownCall

	mu     sync.Mutex
	found  int
	again  bool // something changed meanwhile: the look does not count
	silent []silence
	err    error // of the inventory
}

func (l *looking) at(ctx context.Context, p place) {
	scope := routing.GroupID(l.call.Subscription.ID, l.call.Group.Name) + "/providers/" + p.tracked().Provider.Namespace
	if fault := l.below(ctx, p, scope, p.types); fault != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.silent = append(l.silent, silence{p.endpoint.Region, fault})
	}
}

// below looks at the collection of the first of types below a scope; where its
// instances have no rows, at those of the further types below each of them.
func (l *looking) below(ctx context.Context, p place, scope string, types []*regions.ResourceType) *arm.Error {
	t := types[0]
	target := scope + "/" + t.Name[strings.LastIndexByte(t.Name, '/')+1:]
	return l.each(ctx, p, t, target, func(id string) *arm.Error {
		if len(types) > 1 {
			return l.below(ctx, p, id, types[1:])
		}
		return l.take(ctx, p, id)
	})
}

// each reads a collection page by page and hands over the ids in it that lie in
// the group.
func (l *looking) each(ctx context.Context, p place, t *regions.ResourceType, target string, visit func(id string) *arm.Error) *arm.Error {
	g, namespace := l.gateway, t.Provider.Namespace
	c := fanout.Collection{
		Reader: g.upstream, Endpoint: p.endpoint, Namespace: namespace, Public: g.public,
		Query: "api-version=" + t.APIVersions[0], Header: map[string][]string{}, Caller: l.exchange.caller(),
	}
	if err := c.Path.Parse(arm.PathOf(target)); err != nil {
		return arm.NewError(arm.InvalidProviderResponse, namespace, "the id of a resource is no path").Because(err)
	}
	g.stamp(c.Header, l.exchange, l.exchange.principal.In(l.call.Subscription.TenantID), fanout.PublicLink(g.public, c.Path.Escaped(), c.Query))
	inGroup := arm.Fold(routing.GroupID(l.call.Subscription.ID, l.call.Group.Name)) + "/"
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
	return faultOfList(err, namespace)
}

// faultOfList is what the one region of a list had to say.
func faultOfList(err error, namespace string) *arm.Error {
	if err == nil {
		return nil
	}
	var fault *arm.Error
	if !errors.As(err, &fault) {
		return arm.NewError(arm.BadGatewayConnection, namespace).Because(err)
	}
	return fault
}

// take adopts a resource that a list showed, after asking for it, unless the
// index has it there already.
func (l *looking) take(ctx context.Context, p place, id string) *arm.Error {
	l.mu.Lock()
	enough := l.found >= mostFound
	l.mu.Unlock()
	if enough {
		return nil
	}
	sought, fault := l.gateway.soughtByID(l.call, id)
	if fault != nil {
		return fault
	}
	row, err := l.gateway.store.Resource(ctx, l.call.Subscription.ID, sought.Key)
	if err == nil && row.Region == p.endpoint.Region {
		return nil
	}
	seen, fault := l.gateway.sight(ctx, l.exchange, sought, p.endpoint)
	if fault != nil || seen == nil {
		return fault
	}
	result, err := l.gateway.store.Adopt(ctx, *seen)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.found++
	l.again = l.again || result == inventory.TooYoung
	if err != nil {
		l.err = err
	}
	return nil
}

// soughtByID is what is needed to ask for a resource of the group of c that is
// known by its ID alone.
func (g *Gateway) soughtByID(c ownCall, id string) (routing.Sought, *arm.Error) {
	q, fault := routing.ClassifyID(g.router.Map, http.MethodGet, id)
	if fault == nil && (q.Class != routing.Instance || q.Type == nil) {
		fault = q.NotFound()
	}
	if fault != nil {
		return routing.Sought{}, fault
	}
	return routing.Sought{
		Subscription: c.Subscription, Group: c.Group, Type: q.Type, ID: id, Key: q.Key(), APIVersion: q.Type.APIVersions[0],
	}, nil
}
