package regions

import (
	"net/url"
	"strings"
	"time"

	"portico/internal/schema"
)

// Declaration is the source of a Map: regions and providers as declared, in file order.
type Declaration struct {
	Regions   []Region
	Providers []ProviderDeclaration
}

// ProviderDeclaration declares one resource provider. Endpoints and Template
// serve the provider's own calls and the types without endpoints.
type ProviderDeclaration struct {
	Namespace    string
	Contact      string // for operators: how to reach who runs it
	Registration Registration
	Features     []string // names without namespace
	// InternalSubscriptions are the provider's own subscriptions: resources that it
	// creates there on behalf of customers must name the customer's resource.
	InternalSubscriptions []string
	// RequestHeaders and AnswerHeaders are forwarded in addition to the
	// headers that are forwarded for every provider.
	RequestHeaders, AnswerHeaders []string
	// RedirectHosts are permitted targets of the provider's redirects: a host,
	// or after "*." every host below a name, with an optional port.
	RedirectHosts []string
	TLS           TLS        // likewise
	Credential    Credential // likewise
	Validation    Validation
	Types         []TypeDeclaration
	Addresses
}

// TLS names PEM files: CA replaces the authorities that all providers share, Cert and
// Key (both or neither) are Portico's identity for this provider. Each may be empty.
type TLS struct {
	CA, Cert, Key string
}

// Credential names the header that authenticates Portico to a provider, and
// the file with its value. Both may be empty.
type Credential struct {
	Header, File string
}

// Addresses holds the endpoints of a provider or of a type.
type Addresses struct {
	// Endpoints are the addresses by normalised region, or by "global".
	Endpoints map[string][]*url.URL
	// Template is the address for every region that Endpoints lacks, with the
	// placeholders of [Expand]. It never makes a global endpoint.
	Template string
}

// TypeDeclaration declares one resource type.
type TypeDeclaration struct {
	// Name is the type without its namespace, such as
	// "virtualMachines/disks". The parent of a nested type is declared too.
	Name string
	Kind Kind
	// Routing of a nested type is ignored: its parent's applies.
	Routing Routing
	// Subservice fills templates; a nested type without one inherits its parent's.
	Subservice  string
	APIVersions []string
	// Locations are normalised regions; none means every region with an
	// endpoint of the type. They are ignored for nested and global types.
	Locations       []string
	DeletionPolicy  DeletionPolicy
	Capabilities    Capabilities
	LateWriteWindow time.Duration
	OnRegionFailure RegionFailure
	// SKUs have locations and api-versions of the type; none means all.
	SKUs []SKU
	Addresses
	Shapes map[string]*schema.Shape // of the bodies of PUTs, by folded api-versions
}

// Placeholders returns the words, in braces, of an endpoint template.
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

// WantsSubservice reports whether template contains {subservice}, so that it
// serves only types with one.
func WantsSubservice(template string) bool { return strings.Contains(template, "{subservice}") }
