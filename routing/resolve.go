// Package routing decides what a request addresses and which endpoint serves it.
//
// [Classify] reads method, path and query by position, against the region map,
// and nothing else. [Request.Check] checks the common arguments (resource
// reference, arguments) in a fixed order: subscription, group, namespace, type,
// names, api-version. [Router.Resolve] then reads the index. It returns the endpoint
// to call, an answer that needs no call, the error for the client, or a resource to
// search for first: this package never calls a provider.
//
// The addressed thing determines the endpoint:
//
//	an instance of a tracked type     the region in the index; for a new one, the body's location
//	a nested resource                 the region of its nearest tracked ancestor
//	an extension resource             the region of its host, or the global endpoint
//	/locations/{l}/…                  that region
//	a collection                      every region with a row of the type in that scope, or without coverage
//	a global type, a tenant's call    the global endpoint
//	an operation's status             the endpoint recorded with its URL, whatever the path
package routing

import (
	"context"
	"net/http"
	"time"

	"portico/access"
	"portico/arm"
	"portico/inventory"
	"portico/inventory/index"
	"portico/inventory/memory"
	"portico/inventory/polls"
	"portico/regions"
)

// Index is the part of the inventory that routing reads. Absence is
// inventory.ErrNotFound.
type Index interface {
	Subscription(ctx context.Context, id string) (inventory.Subscription, error)
	Group(ctx context.Context, subscription, name string) (inventory.Group, error)
	Registration(ctx context.Context, subscription, namespace string) (inventory.Registration, error)
	Resource(ctx context.Context, subscription, key string) (inventory.Resource, error)
	// Target reads a resource together with its scopes.
	Target(ctx context.Context, q inventory.TargetQuery) (inventory.Target, error)
	Locate(ctx context.Context, subscription string, key []byte, now time.Time) (memory.Located, error)
	// MayHold returns, sorted, the regions that may hold resources of a type:
	// regions with rows, and given regions that may have resources without a
	// row. held reports whether any of them has rows.
	MayHold(ctx context.Context, subscription, group, typeKey string, given []string) (names []string, held bool, err error)
	// OperationFor returns the record of a polling URL, for a caller.
	OperationFor(ctx context.Context, subscription, token, tenant, object string) (polls.Operation, error)
	// OperationByIdentity returns the caller's record of an operation, by its identity.
	// others reports whether another caller started the operation.
	OperationByIdentity(ctx context.Context, subscription, identity, tenant, object string) (own polls.Operation, others bool, err error)
	// ResourceAndRemoval is like Resource, and reports whether an open DELETE
	// may have ended the resource.
	ResourceAndRemoval(ctx context.Context, subscription, key string) (row inventory.Resource, removalOpen bool, err error)
	// Uncovered returns the given regions that may have resources without a row.
	Uncovered(ctx context.Context, subscription, typeKey string, regions []string) ([]string, error)
}

// Mode is the way to answer a resolved request.
type Mode uint8

// The ways to answer.
const (
	Forward    Mode = iota // by the endpoint
	Merge                  // by the endpoints of several regions
	AllRegions             // by the endpoints of all regions, which have to agree
	EmptyList              // no region can hold any resource: an empty list, no call
	Absent                 // a DELETE of a resource that does not exist: 204, no call
	Present                // a HEAD of a resource that the index knows: 204, no call
)

// Decision is the result of resolving a request.
type Decision struct {
	Mode         Mode
	Subscription inventory.Subscription // zero for the tenant's calls
	Group        inventory.Group        // zero outside a group
	// Region and Endpoint serve a Forward; Region is "global" for the global
	// endpoint. Both are zero for a planned resource whose location is not known yet.
	Region   string
	Endpoint *regions.Endpoint
	// Endpoints serve a Merge or AllRegions, in the order of the region names;
	// nil if the skip token names the regions.
	Endpoints []*regions.Endpoint
	// Row is the index's row of the instance, as read from the store; nil if there is
	// none, or a cached location was enough.
	Row     *inventory.Resource
	Memory  Memory
	inGroup bool // the index knows a tracked resource in the group, by row or by location
	// Locks are the locks that may forbid a request that is not a read. The
	// cache does not have them: they are missing if it provided the scopes.
	Locks []inventory.Lock
	// Generation is the generation of the row that routed a read; NeedsVerify
	// reports whether the read's answer may settle something about it.
	Generation  [16]byte
	NeedsVerify bool
	// Parent is the key of the nearest tracked ancestor of a tracked instance, "" if there
	// is none.
	Parent string
	// Location is the location for a new row.
	Location string
	// Operation is the record of a Poll's URL, nil if there is none. If its region has
	// left the map, there is no Endpoint.
	Operation *polls.Operation
}

// Memory records which parts of a decision came from the cache, which may be
// behind the store. A 404 or an empty list that a read got by it has to be
// checked against the store.
type Memory struct {
	// Scopes reports whether the subscription, the group or the registration
	// came from the cache, without tags. If they have changed, the transaction
	// of a write's intent refuses the write.
	Scopes bool
	group  bool // the group is among them
	// Location reports whether the region came from the cache, which is
	// possible only for reads. Key is the key of the tracked resource that is
	// located there, "" for the instance itself.
	Location bool
	Key      string
}

// Any reports whether anything came from the cache.
func (m *Memory) Any() bool { return m.Scopes || m.Location }

// Router resolves requests against one region map.
type Router struct {
	Map   *regions.Map
	Index Index
	// Scopes, if not nil, may answer from the cache; otherwise Index answers everything.
	Scopes Scopes
}

// Resolve routes a checked request of a principal. body comes from [ReadObject] on the
// content of a PUT. If the index knows an operation by the request's URL, the request
// becomes a Poll. The error is an *arm.Error, an error of the index, or a
// *[SearchNeededError]: the caller then searches for that resource and resolves again,
// with the resource's key among searched.
func (rt *Router) Resolve(ctx context.Context, r *Request, p access.Principal, body Body, searched ...string) (*Decision, error) {
	if rt.Scopes != nil && (r.Reads() || r.recordsIntent()) {
		from := scopedDecision{scopes: scopes{Router: rt, memory: true, received: r.Received}}
		if d, err := from.resolve(ctx, r, p, body, searched); from.suffices(d, err) {
			return d, err
		}
	}
	return (&scopedDecision{scopes: scopes{Router: rt}}).resolve(ctx, r, p, body, searched)
}

// scopedDecision is a decision with the scopes that it depends on, in one allocation.
type scopedDecision struct {
	scopes
	Decision
}

func (of *scopedDecision) resolve(ctx context.Context, r *Request, p access.Principal, body Body, searched []string) (*Decision, error) {
	s, d := &of.scopes, &of.Decision
	if err := s.prefetch(ctx, r, d); err != nil {
		return d, err
	}
	if err := s.check(ctx, r, p, d); err != nil {
		return d, err
	}
	if r.Class == NoRoute || r.Class == Own {
		return d, r.Unroutable()
	}
	registration, err := s.checkRegistration(ctx, r, d)
	if err != nil {
		return d, err
	}
	unregistered := registration.Never() && r.Class == Collection && s.needsRegistration(r, d)
	in := resolution{Router: s.Router, ctx: ctx, r: r, body: body, searched: searched, d: d, from: s}
	if unregistered {
		if none, err := in.emptyUnasked(); err != nil || none {
			d.Mode = EmptyList
			return d, err
		}
	}
	switch r.Class {
	case Instance:
		err = in.routeInstance()
	case Collection:
		err = in.routeCollection()
	case Below:
		err = in.routeBelow()
	case AtProvider:
		if r.ChecksName() {
			err = in.routeNameCheck()
		} else {
			err = in.routeToGlobal()
		}
	case Located:
		err = in.routeLocated()
	case Poll:
		err = in.routePoll()
	case NoRoute, Own:
	}
	if err == nil {
		err = s.checkRegisteredRegion(r, d, registration)
	}
	return d, err
}

// recordsIntent reports whether the request is a write whose intent is
// recorded: the transaction that does so checks its scopes.
func (r *Request) recordsIntent() bool {
	return !r.Reads() && r.Class == Instance && r.Type.Kind == regions.Tracked
}

// ResolveOwn resolves the scope of the front door's own routes: it checks
// that subscription and group exist, are visible and permit the method.
func (rt *Router) ResolveOwn(ctx context.Context, r *Request, p access.Principal) (Decision, error) {
	var d Decision
	s := scopes{Router: rt}
	err := s.prefetch(ctx, r, &d)
	if err == nil {
		err = s.check(ctx, r, p, &d)
	}
	return d, err
}

// ResolveSubscription is like ResolveOwn, for records that outlive the group
// in the path.
func (rt *Router) ResolveSubscription(ctx context.Context, r *Request, p access.Principal) (d Decision, err error) {
	err = (&scopes{Router: rt}).checkSubscription(ctx, r, p, &d)
	return d, err
}

// needsRegistration reports whether the subscription of a request has to be
// registered for the provider.
func (rt *Router) needsRegistration(r *Request, d *Decision) bool {
	return r.Provider.Registration == regions.Required && d.Subscription.ID != ""
}

// GroupClosed returns the answer to a write into a group that is being deleted or moved.
func GroupClosed(state index.GroupState, name string) *arm.Error {
	code := arm.ResourceGroupBeingDeleted
	if state == index.GroupMoving {
		code = arm.ResourcesBeingMoved
	}
	return arm.NewError(code, name).WithTarget("resourceGroupName")
}

// checkRegisteredRegion refuses writes to a region that joined the provider
// after the subscription's registration.
func (rt *Router) checkRegisteredRegion(r *Request, d *Decision, registration inventory.Registration) error {
	if r.Reads() || !rt.needsRegistration(r, d) {
		return nil
	}
	lacking := ""
	switch {
	case d.Endpoint != nil && !registration.Covers(d.Region):
		lacking = d.Region
	case d.Mode == AllRegions:
		for _, e := range d.Endpoints {
			if !registration.Covers(e.Region) {
				lacking = e.Region
			}
		}
	}
	if lacking == "" {
		return nil
	}
	typeName := r.Path.LastHop().Segment(0)
	if r.Type != nil {
		typeName = r.Type.Name
	}
	return rt.NotRegisteredThere(r.Provider, typeName, lacking)
}

// NotRegisteredThere refuses a write to a type, named without its namespace, in a
// region that the registration does not cover.
func (rt *Router) NotRegisteredThere(p *regions.Provider, typeName, region string) *arm.Error {
	return arm.NotRegisteredThere(p.Namespace, typeName, rt.displayName(region))
}

func (rt *Router) displayName(region string) string {
	if known, ok := rt.Map.Region(region); ok {
		return known.DisplayName
	}
	return region
}

// NotRegistered refuses a write because of the state of a registration.
func NotRegistered(p *regions.Provider, state inventory.RegistrationState) *arm.Error {
	return arm.NotRegistered(p.Namespace, endedState(state))
}

// endedState returns the state of a registration that existed; "" if there was none.
func endedState(state inventory.RegistrationState) string {
	if state == inventory.NotRegistered {
		return ""
	}
	return state.String()
}

// TargetNotRegistered refuses a move because of the registration of the target
// subscription: its state or, if t is not nil, a region that it does not cover.
func (rt *Router) TargetNotRegistered(
	subscription string, p *regions.Provider, t *regions.ResourceType, state inventory.RegistrationState, region string,
) *arm.Error {
	if t != nil {
		return arm.TargetNotRegisteredThere(subscription, p.Namespace, t.Name, rt.displayName(region))
	}
	return arm.TargetNotRegistered(subscription, p.Namespace, endedState(state))
}

// resolution is one run of Resolve.
type resolution struct {
	*Router
	ctx      context.Context
	r        *Request
	body     Body
	searched []string
	d        *Decision
	from     *scopes

	regions      []string // result of [resolution.mayHold]
	regionsKnown bool
}

// routeTo sets the endpoint of t in region. If a region has rows but has left
// the map, that is an outage, not an absence. The region is "" if it depends
// on the unknown location of a planned resource.
func (s *resolution) routeTo(t *regions.ResourceType, region string) error {
	if region == "" {
		return nil
	}
	if region == arm.GlobalLocation && t.Endpoint(region) == nil {
		return s.noProvider(region, t)
	}
	endpoint := t.Endpoint(region)
	if endpoint == nil {
		return noEndpoint(t, region)
	}
	s.d.Region, s.d.Endpoint = region, endpoint
	return nil
}

func (s *resolution) noProvider(location string, t *regions.ResourceType) error {
	return arm.NoProviderFound(location, s.r.Query.APIVersion, t.FullName, t.APIVersions, t.Locations).WithTarget("location")
}

// routeLocated routes requests below /locations/{l}/ of a provider.
func (s *resolution) routeLocated() error {
	provider, region := s.r.Provider, s.r.Location
	endpoint := providerEndpoint(provider, region)
	if endpoint == nil {
		hop := s.r.Path.LastHop()
		name := "locations"
		for i := 2; i < hop.Len(); i += 2 {
			name += "/" + hop.Segment(i)
		}
		versions, locations := offers(provider.Types())
		return arm.NoProviderFound(region, s.r.Query.APIVersion, provider.Namespace+"/"+name, versions, locations).WithTarget("location")
	}
	s.d.Region, s.d.Endpoint = region, endpoint
	return nil
}

// providerEndpoint returns the endpoint of a provider in region: its own,
// else the first one of its types.
func providerEndpoint(p *regions.Provider, region string) *regions.Endpoint {
	if e := p.Endpoint(region); e != nil {
		return e
	}
	for _, t := range p.Types() {
		if e := t.Endpoint(region); e != nil {
			return e
		}
	}
	return nil
}

// offers returns all api-versions and locations of some types, each once.
func offers(types []*regions.ResourceType) (versions, locations []string) {
	seenVersion, seenLocation := map[string]bool{}, map[string]bool{}
	for _, t := range types {
		for _, v := range t.APIVersions {
			if !seenVersion[v] {
				seenVersion[v] = true
				versions = append(versions, v)
			}
		}
		for _, l := range t.Locations {
			if !seenLocation[l] {
				seenLocation[l] = true
				locations = append(locations, l)
			}
		}
	}
	return arm.NewestFirst(versions), locations
}

// routeToGlobal routes calls that concern a provider as a whole.
func (s *resolution) routeToGlobal() error {
	endpoint := providerEndpoint(s.r.Provider, arm.GlobalLocation)
	if endpoint == nil {
		versions, locations := offers(s.r.Provider.Types())
		name := s.r.Provider.Namespace + "/" + s.r.Path.LastHop().Segment(0)
		return arm.NoProviderFound(arm.GlobalLocation, s.r.Query.APIVersion, name, versions, locations)
	}
	s.d.Region, s.d.Endpoint = arm.GlobalLocation, endpoint
	return nil
}

// routeCollection routes a list.
func (s *resolution) routeCollection() error {
	t, hop := s.r.Type, s.r.Path.LastHop()
	switch {
	case t.Kind == regions.Extension:
		return s.routeExtension(t)
	case t.Parent != nil:
		region, err := s.ancestorRegion(s.r.Path.Hops()-1, hop.Len()-1)
		if err != nil {
			return err
		}
		return s.routeTo(t, region)
	case t.Routing == regions.Global || s.r.Path.Subscription() == "":
		return s.routeTo(t, arm.GlobalLocation)
	case t.Kind == regions.ProxyOnly:
		return s.routeTo(t, t.EffectiveRegions()[0])
	}
	return s.fanOutRegions(t)
}

// fanOutRegions sets the regions that may hold resources of t in the request's scope:
// regions with rows in any phase, and regions without coverage. If several regions serve
// the type, the list is merged even if only one of them holds a resource: the next page
// may find others, and must be able to read this page's token.
func (s *resolution) fanOutRegions(t *regions.ResourceType) error {
	if s.r.Method != http.MethodGet { // a POST cannot go to several regions
		fault := arm.NewError(arm.MethodNotAllowed, s.r.Method)
		fault.Allow = []string{http.MethodGet}
		return fault
	}
	several := len(t.EffectiveRegions()) > 1
	if token, _ := s.r.Query.Get("$skipToken"); token != "" && several {
		s.d.Mode = Merge // the token names the regions
		return nil
	}
	names, err := s.mayHold(t)
	if err != nil {
		return err
	}
	switch {
	case len(names) == 0:
		s.d.Mode = EmptyList
		return nil
	case len(names) == 1 && !several:
		return s.routeTo(t, names[0])
	}
	s.d.Mode = Merge
	for _, name := range names {
		if err := s.routeTo(t, name); err != nil {
			return err
		}
		s.d.Endpoints = append(s.d.Endpoints, s.d.Endpoint)
	}
	s.d.Region, s.d.Endpoint = "", nil
	return nil
}

// routeExtension routes extension resources and their collections.
func (s *resolution) routeExtension(t *regions.ResourceType) error {
	region, err := s.hostRegion(t, s.r.Path.Hops()-1)
	if err != nil {
		return err
	}
	return s.routeTo(t, region)
}

// routePoll routes polls of an operation: to the recorded endpoint, the location in the
// path, the region of the ancestor resource, or the global endpoint, in this order.
// Without a record, any caller that sees the subscription may poll.
func (s *resolution) routePoll() error {
	if s.d.Operation != nil {
		return s.routeRecorded(*s.d.Operation)
	}
	if s.r.Location != "" {
		return s.routeLocated()
	}
	hop := s.r.Path.LastHop()
	above := hop.Len() - 2
	t := s.r.typeOf(hop, above/2)
	if t == nil {
		return s.routeToGlobal()
	}
	region, err := s.ancestorRegion(s.r.Path.Hops()-1, above)
	if err != nil {
		return err
	}
	return s.routeTo(t, region)
}

func (s *resolution) routeRecorded(record polls.Operation) error {
	provider := s.Map.Provider(record.Namespace)
	if provider == nil {
		return s.routeToGlobal()
	}
	var endpoint *regions.Endpoint
	if t := provider.TypeNamed(record.Type); t != nil {
		endpoint = t.Endpoint(record.Region)
	}
	if endpoint == nil {
		endpoint = providerEndpoint(provider, record.Region)
	}
	s.d.Region, s.d.Endpoint = record.Region, endpoint
	return nil
}
