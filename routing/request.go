package routing

import (
	"net/http"
	"strings"
	"time"

	"portico/arm"
	"portico/regions"
)

// Class is the kind of thing that a request addresses.
type Class uint8

// The classes. All but Own and NoRoute are for a resource provider.
const (
	Own        Class = iota // a route that the front door answers itself
	NoRoute                 // well-formed, but without a route
	Instance                // a resource
	Collection              // the resources of one type, in a scope or below a parent
	Below                   // an action on a resource, or a read directly below it
	AtProvider              // an action or a read of a provider as a whole
	Located                 // something of a provider in the region in the path
	Poll                    // the result or status of an asynchronous operation

	Classes = iota // the number of classes
)

var classNames = [...]string{"own", "none", "instance", "collection", "below", "provider", "located", "poll"}

// String returns a short name, fit for a metric label.
func (c Class) String() string {
	if int(c) < len(classNames) {
		return classNames[c]
	}
	return "unknown"
}

// Request is a classified request.
type Request struct {
	Method string
	Path   arm.Path
	Query  Query
	Class  Class
	// Provider is the provider of the last hop; nil for Own and NoRoute, and if the map
	// has none of that namespace.
	Provider *regions.Provider
	// Type is the type of the instance or collection, for Below the type of
	// the resource above; nil if the map has none, and for the other classes.
	Type *regions.ResourceType
	// Location is the normalised location in the path of a Located request or
	// Poll; "" if a Poll has none.
	Location string
	// SKUTypes are the types whose SKUs an Own request lists, as in the map;
	// limited to Location, if the request has one.
	SKUTypes []*regions.ResourceType
	// Received is when the request arrived; it decides whether a cached
	// location is fresh enough. If it is zero, none is.
	Received time.Time

	buffer [256]byte // for keys during lookups
}

// ownNamespaces are the namespaces that belong to the front door itself.
var ownNamespaces = []string{"Microsoft.Resources", "Microsoft.Authorization", featuresNamespace}

// featuresNamespace is the namespace whose paths continue with another
// provider's namespace in the place of a resource's name.
const featuresNamespace = "Microsoft.Features"

// insightsNamespace is a namespace with some types of the front door's own.
// The others may be a provider's.
const insightsNamespace = "Microsoft.Insights"

// OwnNamespace reports whether ns, in any casing, belongs to the front door.
func OwnNamespace(ns string) bool {
	for _, own := range ownNamespaces {
		if arm.EqualFold(ns, own) {
			return true
		}
	}
	return false
}

// operationTypes are the type names under which providers offer the results of
// asynchronous operations, in every usual spelling.
var operationTypes = []string{"operationResults", "operationStatuses", "operationsStatus", "operationsStatuses", "operationStatus"}

func operationType(segment string) bool {
	for _, name := range operationTypes {
		if arm.EqualFold(segment, name) {
			return true
		}
	}
	return false
}

// namesOperation reports whether the first n segments of hop end in a type of
// operations, before a name. Many providers call it "operations", which may
// also be a type of the map, or support other methods than GET.
func (r *Request) namesOperation(hop arm.Hop, n int) bool {
	segment := hop.Segment(n - 2)
	return operationType(segment) ||
		r.Method == http.MethodGet && arm.EqualFold(segment, "operations") && r.typeOf(hop, n/2) == nil
}

// Classify classifies a request by its method, raw path and raw query, as received. The
// error describes malformed parts; the request is then classified by the readable ones.
func Classify(m *regions.Map, method, rawPath, rawQuery string) (*Request, *arm.Error) {
	r := &Request{}
	fault := r.Classify(m, method, rawPath, rawQuery)
	return r, fault
}

// Classify is like the function Classify, for a request that is already allocated.
func (r *Request) Classify(m *regions.Map, method, rawPath, rawQuery string) (fault *arm.Error) {
	r.Method, r.Class = method, NoRoute
	if err := r.Path.Parse(rawPath); err != nil {
		return pathFault(err, rawPath)
	}
	r.classify(m)
	r.Query, fault = parseQuery(rawQuery, r.supportedVersions())
	return fault
}

// ClassifyID classifies a call to the resource with an unescaped ID from a
// body or the index.
func ClassifyID(m *regions.Map, method, id string) (*Request, *arm.Error) {
	return Classify(m, method, arm.PathOf(id), "")
}

func pathFault(err error, rawPath string) *arm.Error {
	fault, ok := err.(*arm.PathError) //nolint:errorlint // Parse returns nothing else
	if !ok {
		return arm.NewError(arm.InvalidRequestURI, err.Error()).WithTarget(rawPath)
	}
	switch fault.Code {
	case arm.InvalidSubscriptionID:
		return arm.NewError(fault.Code, "").WithTarget("subscriptionId")
	case arm.InvalidResourceGroup:
		return groupNameFault("")
	case arm.InvalidResourceName:
		return arm.NewError(fault.Code, "").WithTarget("resourceName")
	}
	return arm.NewError(arm.InvalidRequestURI, fault.Reason)
}

func (r *Request) classify(m *regions.Map) {
	if r.Path.Hops() == 0 {
		r.Class = Own // the routes decide whether such a route exists
		return
	}
	hop := r.Path.LastHop()
	if hop.Namespace() == "" {
		r.Class = NoRoute
		if r.Path.Group() == "" && r.Path.Hops() == 1 {
			r.Class = Own // the list of providers
		}
		return
	}
	if OwnNamespace(hop.Namespace()) || r.namesActivityLog(hop) {
		r.Class = Own
		return
	}
	r.Provider = m.Provider(hop.Namespace())
	if hop.Len() == 0 {
		if r.Path.Group() == "" && r.Path.Hops() == 1 {
			r.Class = Own // one provider
		}
		return
	}
	r.classifyHop(hop)
}

// namesActivityLog reports whether the path is the activity log of a
// subscription or a tenant, or the list of the kinds of its events. The rest
// of its namespace may be a provider's.
func (r *Request) namesActivityLog(hop arm.Hop) bool {
	if r.Path.Hops() != 1 || r.Path.Group() != "" || !arm.EqualFold(hop.Namespace(), insightsNamespace) {
		return false
	}
	if hop.Len() == 1 {
		return r.Path.Subscription() == "" && arm.EqualFold(hop.Segment(0), "eventcategories")
	}
	return hop.Len() == 3 && arm.EqualFold(hop.Segment(0), "eventtypes") &&
		arm.EqualFold(hop.Segment(1), "management") && arm.EqualFold(hop.Segment(2), "values")
}

// namesMetadata reports whether the path is the cloud's metadata for clients.
// Old clients request it with a version that is not a date.
func (r *Request) namesMetadata() bool { return arm.EqualFold(r.Path.String(), "/metadata/endpoints") }

func (r *Request) classifyHop(hop arm.Hop) {
	n := hop.Len()
	atScope := r.Path.Hops() == 1 && r.Path.Group() == ""
	if atScope && arm.EqualFold(hop.Segment(0), "locations") && n > 1 {
		r.Location = arm.Location(hop.Segment(1))
	}
	if atScope && r.Method == http.MethodGet && arm.EqualFold(hop.Segment(n-1), "skus") {
		r.SKUTypes = r.skuTypes(hop, n)
	}
	switch {
	case len(r.SKUTypes) > 0:
		r.Class = Own
	case n >= 2 && n%2 == 0 && r.namesOperation(hop, n):
		r.Class = Poll
	case r.Location != "":
		r.Class = Located
	case n == 1 && atScope && r.Path.Subscription() != "" && r.namesOwnRoute(hop):
		r.Class = Own
	case n%2 == 0:
		r.Class = Instance
		r.Type = r.typeOf(hop, n/2)
	default:
		r.classifyOdd(hop, n)
	}
}

// namesOwnRoute reports whether the word after a namespace, in a
// subscription, is one of the front door's own routes.
func (r *Request) namesOwnRoute(hop arm.Hop) bool {
	word := hop.Segment(0)
	switch r.Method {
	case http.MethodPost:
		return arm.EqualFold(word, "register") || arm.EqualFold(word, "unregister")
	case http.MethodGet:
		return arm.EqualFold(word, "resourceTypes") && r.typeOf(hop, 1) == nil
	}
	return false
}

// skuTypes returns the types whose SKUs for new resources are requested by a
// subscription's {ns}/skus, {ns}/{type}/skus or {ns}/locations/{l}[/{type}]/skus
// (addendum, Enumerating SKUs for a new resource). It returns none if the map lists no
// SKUs or has a type of that name: the request is then the provider's. Outside a group,
// no tracked type has an instance of that name.
func (r *Request) skuTypes(hop arm.Hop, n int) []*regions.ResourceType {
	if r.Provider == nil || r.Path.Subscription() == "" {
		return nil
	}
	first := 0
	if r.Location != "" {
		first = 2
	}
	if n-1 == first {
		if r.Location == "" && r.typeOf(hop, 1) != nil {
			return nil
		}
		return r.Provider.SKUTypes()
	}
	name := hop.Segment(first)
	for i := first + 1; i < n-1; i++ {
		name += "/" + hop.Segment(i)
	}
	t := r.Provider.TypeNamed(name)
	if t == nil || len(t.SKUs) == 0 || r.Location == "" && (t.Parent != nil || t.Kind != regions.Tracked) {
		return nil
	}
	return []*regions.ResourceType{t}
}

// classifyOdd classifies a hop that ends in a type or an action. A declared name is a
// type. Any other name is an action if the method is POST, and "skus" of a resource may
// be read (addendum, Enumerating SKUs for an existing resource).
func (r *Request) classifyOdd(hop arm.Hop, n int) {
	r.Class = Collection
	if r.Type = r.typeOf(hop, n/2+1); r.Type != nil {
		return
	}
	post := r.Method == http.MethodPost
	switch {
	case n == 1 && (post || r.Path.Subscription() == "" && arm.EqualFold(hop.Segment(0), "operations")):
		r.Class = AtProvider
	case n > 1 && (post || arm.EqualFold(hop.Segment(n-1), "skus")):
		r.Class = Below
		r.Type = r.typeOf(hop, n/2)
	}
}

func (r *Request) typeOf(hop arm.Hop, pairs int) *regions.ResourceType {
	return typeOf(r.Provider, hop, pairs)
}

func typeOf(p *regions.Provider, hop arm.Hop, pairs int) *regions.ResourceType {
	if p == nil {
		return nil
	}
	var buffer [256]byte
	return p.Type(hop.AppendTypeKey(buffer[:0], pairs))
}

// Reads reports whether the request's method is GET or HEAD.
func (r *Request) Reads() bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// Key returns the folded ID in the path, which is its key in the index.
func (r *Request) Key() string { return arm.Fold(r.Path.String()) }

// ID returns the ID of the resource in the path: literals, namespace and type
// as declared; subscription, group and names as the client wrote them.
func (r *Request) ID() string {
	hop := r.Path.LastHop()
	return r.idOf(r.Type, hop, hop.Len())
}

// idOf is like ID, for the resource of type t in the first n segments of hop.
// A type that the map lacks keeps the client's spelling.
func (r *Request) idOf(t *regions.ResourceType, hop arm.Hop, n int) string {
	var provider *regions.Provider
	namespace := hop.Namespace()
	if t != nil {
		provider, namespace = t.Provider, t.Provider.Namespace
	}
	var id strings.Builder
	id.Grow(len(r.Path.String()) + len("/resourceGroups"))
	id.WriteString(scopeID(&r.Path, hop.Start()))
	id.WriteString("/providers/")
	id.WriteString(namespace)
	for i := range n {
		segment := hop.Segment(i)
		if i%2 == 0 {
			if declared := typeOf(provider, hop, i/2+1); declared != nil {
				segment = lastSegment(declared.Name)
			}
		}
		id.WriteByte('/')
		id.WriteString(segment)
	}
	return id.String()
}

func scopeID(p *arm.Path, segments int) string {
	switch {
	case p.Subscription() == "" || segments > 4: // the host of an extension
		return p.Prefix(segments)
	case p.Group() == "":
		return "/subscriptions/" + p.Subscription()
	}
	return GroupID(p.Subscription(), p.Group())
}

// GroupID returns the ID of a resource group.
func GroupID(subscription, group string) string {
	return "/subscriptions/" + subscription + "/resourceGroups/" + group
}

func lastSegment(s string) string {
	return s[strings.LastIndexByte(s, '/')+1:]
}

// Name returns the name of the resource in lists: nested names joined by slashes.
func (r *Request) Name() string {
	hop := r.Path.LastHop()
	name := ""
	for i := 1; i < hop.Len(); i += 2 {
		if name != "" {
			name += "/"
		}
		name += hop.Segment(i)
	}
	return name
}
