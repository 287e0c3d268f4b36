package contract

// Profile is a part of the contract that a provider claims to keep. Profiles
// that it does not claim are left out of a run and counted as such.
type Profile string

// The profiles.
const (
	Core               Profile = "core"
	TrackedResources   Profile = "tracked"
	Nested             Profile = "nested"
	Extensions         Profile = "extension"
	Asynchronous       Profile = "asynchronous"
	Tags               Profile = "tags"
	ETags              Profile = "etags"
	Moves              Profile = "move"
	SKUs               Profile = "skus"
	Subscriptions      Profile = "subscriptions"
	ResourceCreatedFor Profile = "resourceCreatedFor"
	Certificates       Profile = "certificates"
	Preflights         Profile = "preflight"
)

// ProfileDescription describes a profile.
type ProfileDescription struct {
	Name  Profile
	About string // one sentence
}

// Profiles returns all profiles, in the order of reports.
func Profiles() []ProfileDescription {
	return []ProfileDescription{
		{Core, "Required of every provider: names, bodies, PUT, PATCH, GET, DELETE, lists, errors, and its declared actions."},
		{TrackedResources, "Resources with a location, which the front door keeps in its index."},
		{Nested, "Children below other resources."},
		{Extensions, "Resources below any scope."},
		{Asynchronous, "Operations that continue after the request that started them."},
		{Tags, "The tags of tracked resources."},
		{ETags, "Entity tags and preconditions."},
		{Moves, "Moves of resources to other groups and subscriptions."},
		{SKUs, "SKUs of a resource and the change between them."},
		{Subscriptions, "Notifications about the life cycle of subscriptions."},
		{ResourceCreatedFor, "Resources that a provider creates in its own subscription for resources of its users."},
		{Certificates, "Only callers with the front door's client certificate are served."},
		{Preflights, "Validation of planned resources."},
	}
}
