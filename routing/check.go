package routing

import (
	"net/http"
	"slices"
	"unicode/utf8"

	"portico/arm"
	"portico/regions"
)

// Check checks the common arguments of a request, in the order subscription, group,
// namespace, type, names, api-version. It returns the first fault, or nil. bodyLocation
// is the location in the content of a PUT; it only appears in the fault's text.
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
		return arm.NewError(arm.InvalidSubscriptionID, s).WithTarget("subscriptionId")
	}
	if g := r.Path.Group(); g != "" && !arm.ValidGroupName(g) {
		return groupNameFault(g)
	}
	return nil
}

func groupNameFault(name string) *arm.Error {
	fault := arm.NewError(arm.InvalidResourceGroup, name, arm.InvalidGroupNameCharacters(name)).WithTarget("resourceGroupName")
	switch {
	case name == "":
		return fault.WithMessage("The provided resource group name '' is empty.")
	case utf8.RuneCountInString(name) > arm.MaxGroupName:
		return fault.WithMessage("The provided resource group name '%s' is longer than %d characters.", name, arm.MaxGroupName)
	case arm.InvalidGroupNameCharacters(name) == "" && !arm.Composed(name):
		return fault.WithMessage("The provided resource group name '%s' is not in Unicode normalization form C.", name)
	case arm.InvalidGroupNameCharacters(name) == "":
		return fault.WithMessage("The provided resource group name '%s' ends with a full stop. "+
			"The last character can only be a letter, digit, '-', '(', ')' or '_'.", name)
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
		return arm.NewError(arm.InvalidResourceNamespace, ns).WithStatus(http.StatusBadRequest).WithTarget("resourceProviderNamespace")
	}
	provider := m.Provider(ns)
	if provider == nil && !OwnNamespace(ns) && !(r.Class == Own && i == r.Path.Hops()-1 && arm.EqualFold(ns, insightsNamespace)) {
		return arm.NewError(arm.InvalidResourceNamespace, ns).WithTarget("resourceProviderNamespace")
	}
	for n := 0; n < hop.Len(); n += 2 {
		if segment := hop.Segment(n); !arm.ValidTypeName(segment) || n == 0 && arm.EqualFold(segment, "providers") && !arm.EqualFold(ns, featuresNamespace) {
			return arm.NewError(arm.InvalidResourceType, ns, r.Query.APIVersion).WithStatus(http.StatusBadRequest).
				WithMessage("The resource type '%s' is malformed: it has ASCII letters and digits only.", segment).WithTarget("resourceType")
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

// CheckNames checks the names in an ID from a body, parsed by [ClassifyID],
// by the rules for names in paths.
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

// typeKnown reports whether a hop's type is declared, if its class requires
// that. The host of an extension must have a declared type. Only extensions,
// and types below them, can be on another resource.
func (r *Request) typeKnown(provider *regions.Provider, i int) bool {
	t := r.Type
	if i < r.Path.Hops()-1 {
		hop := r.Path.Hop(i)
		t = typeOf(provider, hop, hop.Len()/2) // a further hop begins only after a name
	} else if r.Class != Instance && r.Class != Collection && r.Class != Below {
		return true
	}
	return t != nil && (i == 0 || topLevelType(t).Kind == regions.Extension)
}

// topLevelType returns the type at the beginning of a nested type's name.
func topLevelType(t *regions.ResourceType) *regions.ResourceType {
	for t.Parent != nil {
		t = t.Parent
	}
	return t
}

func (r *Request) unknownType(provider *regions.Provider) *arm.Error {
	return arm.NewError(arm.InvalidResourceType, provider.Namespace, r.Query.APIVersion).WithTarget("resourceType")
}

// methods maps classes to the methods that they support.
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
	if slices.Contains(allowed, r.Method) {
		return nil
	}
	fault := arm.NewError(arm.MethodNotAllowed, r.Method)
	fault.Allow = allowed
	return fault
}

func (r *Request) checkVersion(bodyLocation string) *arm.Error {
	v := r.Query.APIVersion
	if r.Class == NoRoute || r.Class == Poll { // the provider decides the form of a polling URL
		return nil
	}
	if v == "" {
		return arm.NewError(arm.MissingAPIVersionParameter).WithTarget("api-version")
	}
	if !arm.ValidAPIVersion(v) && !(r.namesMetadata() && arm.NumberedAPIVersion(v)) {
		return invalidVersion(v, r.supportedVersions())
	}
	if len(r.SKUTypes) > 0 {
		return r.checkSKUs()
	}
	if r.Type != nil && !r.Type.Supports(v) {
		return arm.NoProviderFound(bodyLocation, v, r.Type.FullName, r.Type.APIVersions, r.Type.Locations).WithTarget("api-version")
	}
	return nil
}

// supportedVersions returns the api-versions to list in the error about a malformed one.
func (r *Request) supportedVersions() []string {
	if r.Type != nil {
		return r.Type.APIVersions
	}
	return ownVersions
}

// checkSKUs requires that one of the types of the requested SKUs supports the
// api-version and the location.
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
	return arm.NoProviderFound(r.Location, r.Query.APIVersion, r.Provider.Namespace+name, versions, locations).WithTarget(target)
}

// Unroutable returns the answer to a well-formed path without a route.
func (r *Request) Unroutable() *arm.Error {
	return arm.NewError(arm.HTTPResourceNotFound, r.Path.String())
}
