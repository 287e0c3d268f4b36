package regions

// Registration defines whether a subscription must be registered for a
// provider's namespace before it may write there.
type Registration uint8

// The kinds of registration.
const (
	Required  Registration = iota // a write without registration is refused
	Automatic                     // every subscription counts as registered
)

// Registrations returns every valid value.
func Registrations() []Registration { return []Registration{Required, Automatic} }

func (r Registration) String() string { return name(r, "required", "automatic") }

// Kind defines how much the gateway knows about resources of a type
// (addendum, Designing Resources).
type Kind uint8

// The kinds of resource types.
const (
	Tracked   Kind = iota // indexed by the gateway: has location and tags
	ProxyOnly             // addressable, but unknown to the index
	Extension             // attached to another resource, a group or a subscription
)

// Kinds returns every valid value.
func Kinds() []Kind { return []Kind{Tracked, ProxyOnly, Extension} }

func (k Kind) String() string { return name(k, "tracked", "proxyOnly", "extension") }

// Routing defines whether a type's instances are in regions or in one place.
type Routing uint8

// The kinds of routing.
const (
	Regional Routing = iota // each instance is served by its region's endpoint
	Global                  // all instances are served by the global endpoint
)

// Routings returns every valid value.
func Routings() []Routing { return []Routing{Regional, Global} }

func (r Routing) String() string { return name(r, "regional", "global") }

// DeletionPolicy defines what happens to a resource's children when it is deleted.
type DeletionPolicy uint8

// The deletion policies.
const (
	Cascade DeletionPolicy = iota // they are deleted with it
	Refuse                        // it cannot be deleted while it has any
)

// DeletionPolicies returns every valid value.
func DeletionPolicies() []DeletionPolicy { return []DeletionPolicy{Cascade, Refuse} }

func (p DeletionPolicy) String() string { return name(p, "cascade", "refuse") }

// RegionFailure defines how a list over several regions answers if a region fails.
type RegionFailure uint8

// The answers. Inherit is a type's zero value: the setting for all lists applies.
const (
	Inherit RegionFailure = iota
	Fail                  // the list fails as a whole
	Partial               // the list is answered and names the failed regions
)

// RegionFailures returns every value that can be written; omitting the
// setting means Inherit.
func RegionFailures() []RegionFailure { return []RegionFailure{Fail, Partial} }

func (f RegionFailure) String() string { return name(f, "inherit", "fail", "partial") }

// Validation defines when bodies for a provider are validated against their shapes.
type Validation uint8

// The times of validation.
const (
	ValidatePlans  Validation = iota // when a client asks whether a planned body would be accepted
	ValidateWrites                   // also when a body is sent
	ValidateNever
)

// Validations returns every valid value.
func Validations() []Validation { return []Validation{ValidatePlans, ValidateWrites, ValidateNever} }

func (v Validation) String() string { return name(v, "preflight", "write", "off") }

func name[E ~uint8](value E, names ...string) string {
	if int(value) < len(names) {
		return names[value]
	}
	return "unknown"
}
