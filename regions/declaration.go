package regions

import (
	"net/url"
	"strings"
	"time"
)

// Declaration is what a Map is made of: regions and providers as somebody
// wrote them, in file order.
type Declaration struct {
	Regions   []Region
	Providers []ProviderDeclaration
}

// ProviderDeclaration declares one resource provider. Endpoints and Template
// serve the provider's own calls and every type that names none of its own.
type ProviderDeclaration struct {
	Namespace    string
	Registration Registration
	Features     []string // names without the namespace
	// InternalSubscriptions are the provider's own: what is made there on behalf
	// of customers has to say for which resource.
	InternalSubscriptions []string
	// RequestHeaders and AnswerHeaders pass beside those that pass for any provider.
	RequestHeaders, AnswerHeaders []string
	// RedirectHosts are where the provider may redirect clients to: a host, or all
	// below it after "*.", maybe with a port.
	RedirectHosts []string
	HTTPClient    HTTPClient // for all endpoints of the provider and its types
	Types         []TypeDeclaration
	Addresses
}

// Addresses names endpoints on one level, of a provider or of a type.
type Addresses struct {
	// Endpoints are the addresses by normalised region, or by "global".
	Endpoints map[string][]*url.URL
	// Template is the address of every region that Endpoints does not name,
	// with placeholders as in [Expand]. It never makes a global endpoint.
	Template string
}

// TypeDeclaration declares one resource type.
type TypeDeclaration struct {
	// Name is the type without its namespace, such as
	// "virtualMachines/disks". The parent of a nested type is declared too.
	Name string
	Kind Kind
	// Routing of a nested type is ignored: it is its parent's.
	Routing Routing
	// Subservice fills templates; a nested type without one has its parent's.
	Subservice  string
	APIVersions []string
	// Locations are normalised regions; none means every region for which the
	// type has an endpoint. Those of nested and global types are ignored.
	Locations       []string
	DeletionPolicy  DeletionPolicy
	Capabilities    Capabilities
	LateWriteWindow time.Duration
	OnRegionFailure RegionFailure
	// SKUs have locations and api-versions of the type; none means all.
	SKUs []SKU
	Addresses
}

// Placeholders are the words, in braces, that an endpoint template may hold.
func Placeholders() []string { return []string{"{region}", "{subservice}", "{namespace}"} }

// Expand fills an endpoint template: {region}, {subservice} and {namespace},
// the last in lower case.
func Expand(template, region, subservice, namespace string) string {
	return strings.NewReplacer(
		"{region}", region,
		"{subservice}", subservice,
		"{namespace}", strings.ToLower(namespace),
	).Replace(template)
}

// WantsSubservice reports whether template holds {subservice}, and so serves
// only types that have one.
func WantsSubservice(template string) bool { return strings.Contains(template, "{subservice}") }
