package routing

import (
	"net/http"
	"unicode/utf8"

	"portico/arm"
	"portico/regions"
)

// Check holds the request to the rules for common arguments, in the order
// subscription, group, namespace, type, names, api-version. It returns the
// first fault, or nil. bodyLocation is the location that a PUT carries, for
// the wording of a fault alone.
func (r *Request) Check(m *regions.Map, bodyLocation string) *arm.Error {
	if fault := r.checkScope(); fault != nil {
		return fault
	}
	for i := range r.Path.Hops() {
		if fault := r.checkHop(m, i); fault != nil {
			return fault
		}
	}
	if fault := r.checkMethod(); fault != nil {
		return fault
	}
	return r.checkVersion(bodyLocation)
}

func (r *Request) checkScope() *arm.Error {
	if s := r.Path.Subscription(); s != "" && !arm.ValidGUID(s) {
		return arm.NewError(arm.InvalidSubscriptionID, s).About("subscriptionId")
	}
	if g := r.Path.Group(); g != "" && !arm.ValidGroupName(g) {
		return groupNameFault(g)
	}
	return nil
}

func groupNameFault(name string) *arm.Error {
	fault := arm.NewError(arm.InvalidResourceGroup, name, arm.InvalidGroupNameCharacters(name)).About("resourceGroupName")
	switch {
	case name == "":
		return fault.Saying("The provided resource group name '' is empty.")
	case utf8.RuneCountInString(name) > arm.MaxGroupName:
		return fault.Saying("The provided resource group name '%s' is longer than %d characters.", name, arm.MaxGroupName)
	case arm.InvalidGroupNameCharacters(name) == "" && !arm.Composed(name):
		return fault.Saying("The provided resource group name '%s' is not in Unicode normalization form C.", name)
	case arm.InvalidGroupNameCharacters(name) == "":
		return fault.Saying("The provided resource group name '%s' ends with a full stop. The last character can only be a letter, digit, '-', '(', ')' or '_'.", name)
	}
	return fault
}

func (r *Request) checkHop(m *regions.Map, i int) *arm.Error {
	hop := r.Path.Hop(i)
	ns := hop.Namespace()
	if ns == "" {
		return nil
	}
	if !arm.ValidNamespace(ns) {
		return arm.NewError(arm.InvalidResourceNamespace, ns).WithStatus(http.StatusBadRequest).About("resourceProviderNamespace")
	}
	provider := m.Provider(ns)
	if provider == nil && !OwnNamespace(ns) {
		return arm.NewError(arm.InvalidResourceNamespace, ns).About("resourceProviderNamespace")
	}
	for n := 0; n < hop.Len(); n += 2 {
		if segment := hop.Segment(n); !arm.ValidTypeName(segment) || n == 0 && arm.EqualFold(segment, "providers") && !arm.EqualFold(ns, featuresNamespace) {
			return arm.NewError(arm.InvalidResourceType, ns, r.Query.APIVersion).WithStatus(http.StatusBadRequest).
				Saying("The resource type '%s' is malformed: it has ASCII letters and digits only.", segment).About("resourceType")
		}
	}
	if provider != nil && !r.typeKnown(provider, i) {
		return r.unknownType(provider)
	}
	return checkNames(hop)
}

func checkNames(hop arm.Hop) *arm.Error {
	for n := 1; n < hop.Len(); n += 2 {
		if fault := arm.CheckResourceName(hop.Segment(n)); fault != nil {
			return fault
		}
	}
	return nil
}

// CheckNames holds the names in an ID, as [ClassifyID] read it from a body, to the
// rules for names in paths.
func (r *Request) CheckNames() *arm.Error {
	if fault := r.checkScope(); fault != nil {
		return fault
	}
	for i := range r.Path.Hops() {
		if fault := checkNames(r.Path.Hop(i)); fault != nil {
			return fault
		}
	}
	return nil
}

// typeKnown holds for the types that requests of their class must have
// declared; a host of an extension must be of a declared type. What stands on a
// resource is an extension, or below one.
func (r *Request) typeKnown(provider *regions.Provider, i int) bool {
	t := r.Type
	if i < r.Path.Hops()-1 {
		hop := r.Path.Hop(i)
		t = typeOf(provider, hop, hop.Len()/2) // a further hop begins behind a name only
	} else if r.Class != Instance && r.Class != Collection && r.Class != Below {
		return true
	}
	return t != nil && (i == 0 || top(t).Kind == regions.Extension)
}

// top is the type at the beginning of a nested one's name.
func top(t *regions.ResourceType) *regions.ResourceType {
	for t.Parent != nil {
		t = t.Parent
	}
	return t
}

func (r *Request) unknownType(provider *regions.Provider) *arm.Error {
	return arm.NewError(arm.InvalidResourceType, provider.Namespace, r.Query.APIVersion).About("resourceType")
}

// methods are the verbs that each class understands.
var methods = map[Class][]string{
	Instance:   {http.MethodGet, http.MethodHead, http.MethodPut, http.MethodPatch, http.MethodDelete},
	Collection: {http.MethodGet, http.MethodPost},
	Below:      {http.MethodGet, http.MethodPost},
	AtProvider: {http.MethodGet, http.MethodPost},
	Located:    {http.MethodGet, http.MethodHead, http.MethodPut, http.MethodPatch, http.MethodPost, http.MethodDelete},
	Poll:       {http.MethodGet},
}

func (r *Request) checkMethod() *arm.Error {
	allowed, ruled := methods[r.Class]
	if !ruled {
		return nil
	}
	for _, m := range allowed {
		if r.Method == m {
			return nil
		}
	}
	fault := arm.NewError(arm.MethodNotAllowed, r.Method)
	fault.Allow = allowed
	return fault
}

func (r *Request) checkVersion(bodyLocation string) *arm.Error {
	v := r.Query.APIVersion
	if r.Class == NoRoute || r.Class == Poll { // a polling URL is the provider's to shape
		return nil
	}
	if v == "" {
		return arm.NewError(arm.MissingAPIVersionParameter).About("api-version")
	}
	if !arm.ValidAPIVersion(v) {
		return invalidVersion(v, r.supportedVersions())
	}
	if len(r.SKUTypes) > 0 {
		return r.checkSKUs()
	}
	if r.Type != nil && !r.Type.Supports(v) {
		return arm.NoProviderFound(bodyLocation, v, r.Type.FullName, r.Type.APIVersions, r.Type.Locations).About("api-version")
	}
	return nil
}

// supportedVersions are named where an api-version is malformed.
func (r *Request) supportedVersions() []string {
	if r.Type != nil {
		return r.Type.APIVersions
	}
	return ownVersions
}

// checkSKUs wants an api-version and a location that one of the types has whose
// SKUs are asked for.
func (r *Request) checkSKUs() *arm.Error {
	supported, offered := false, r.Location == ""
	for _, t := range r.SKUTypes {
		supported = supported || t.Supports(r.Query.APIVersion)
		offered = offered || t.OffersLocation(r.Location)
	}
	if supported && offered {
		return nil
	}
	target, name := "api-version", "/skus"
	if supported {
		target = "location"
	}
	if r.Location != "" {
		name = "/locations/skus"
	}
	versions, locations := offers(r.SKUTypes)
	return arm.NoProviderFound(r.Location, r.Query.APIVersion, r.Provider.Namespace+name, versions, locations).About(target)
}

// Unroutable is the answer where a path is well-formed but leads nowhere.
func (r *Request) Unroutable() *arm.Error {
	return arm.NewError(arm.HTTPResourceNotFound, r.Path.String())
}
