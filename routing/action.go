package routing

import (
	"net/http"
	"strings"

	"portico/arm"
)

// Actions of a request, below a subscription or a group, for something that Portico does
// not have: its answer reveals whether the subscription or the group exists.
const (
	readSubscription = "Microsoft.Resources/subscriptions/read"
	readGroup        = "Microsoft.Resources/subscriptions/resourceGroups/read"
)

// Action returns the request's action, in the words of roles: the namespace,
// the types, and read, write, delete or, for a POST, the name of an action
// and "action". Declared names are spelt as in the map; others keep the
// client's spelling. The route of an Own request names its action: for such a
// request, and for one without a route, Action returns the action to read the
// surrounding group or subscription. It is "" if no role is needed: outside
// of both, and for a provider's list of the actions that roles can allow.
func (r *Request) Action() string {
	switch {
	case r.Class == Own || r.Class == NoRoute:
		return r.containerRead()
	case r.Type != nil && (r.Class == Instance || r.Class == Collection) && r.Method != http.MethodPost:
		return actionOf(r.Type.Actions.Read, r.Type.Actions.Write, r.Type.Actions.Delete, r.Method)
	case r.Class == AtProvider && r.Reads() && r.Path.Hops() == 1 && r.Path.Subscription() == "":
		return ""
	}
	return r.LiteralAction()
}

func (r *Request) containerRead() string {
	switch {
	case r.Path.Group() != "":
		return readGroup
	case r.Path.Subscription() != "":
		return readSubscription
	}
	return ""
}

// LiteralAction returns the action that the last hop of the path spells, with
// declared names as in the map.
func (r *Request) LiteralAction() string {
	hop := r.Path.LastHop()
	base, named := hop.Namespace(), 0 // number of types in base
	if r.Provider != nil {
		base = r.Provider.Namespace
	}
	types := (hop.Len() + 1) / 2
	for k := types; k > 0; k-- {
		if t := r.typeOf(hop, k); t != nil {
			base, named = t.FullName, k
			break
		}
	}
	var action strings.Builder
	action.Grow(len(r.Path.String()) + len("/action"))
	action.WriteString(base)
	for i := named; i < types; i++ {
		action.WriteByte('/')
		action.WriteString(hop.Segment(2 * i))
	}
	action.WriteByte('/')
	action.WriteString(actionOf("read", "write", "delete", r.Method))
	return action.String()
}

// actionOf returns the action of a method among the three, and "action" for a POST.
func actionOf(read, write, remove, method string) string {
	switch method {
	case http.MethodPut, http.MethodPatch:
		return write
	case http.MethodDelete:
		return remove
	case http.MethodPost:
		return "action"
	}
	return read
}

// Scope returns the ID at which the request's action has to be allowed, in
// the client's spelling: the resource in the path; for a collection or an
// action its parent or scope; for a call to a provider as a whole the
// subscription or group. It is a part of the path's text.
func (r *Request) Scope() string {
	if r.Path.Hops() == 0 {
		if i, below := r.Path.Own(); below {
			return r.scopeOf(i)
		}
		return r.Path.String()
	}
	hop := r.Path.LastHop()
	n := hop.Len()
	switch {
	case r.Class == AtProvider, r.Class == Located, len(r.SKUTypes) > 0, r.Class == Poll && r.Location != "",
		arm.EqualFold(hop.Namespace(), featuresNamespace), r.namesActivityLog(hop):
		n = 0
	case r.Class == Poll:
		n -= 2
	case n%2 != 0:
		n--
	}
	if n <= 0 {
		return r.scopeOf(hop.Start())
	}
	return r.Path.Prefix(hop.Start() + 2 + n)
}

// scopeOf returns the ID in the path's first segments.
func (r *Request) scopeOf(segments int) string {
	if segments == 0 {
		return TenantScope
	}
	return r.Path.Prefix(segments)
}

// TenantScope is the ID of a whole tenant, as a scope.
const TenantScope = "/"

// SubscriptionOf returns the subscription's id in a scope, in the scope's
// spelling; "" for a tenant's scope. It does not allocate.
func SubscriptionOf(scope string) string {
	const before = "/subscriptions/"
	if len(scope) < len(before) || !arm.EqualFold(scope[:len(before)], before) {
		return ""
	}
	id := scope[len(before):]
	if end := strings.IndexByte(id, '/'); end >= 0 {
		id = id[:end]
	}
	return id
}
