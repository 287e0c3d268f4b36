package exchange

// Origin says what sent a request. Whatever it is, the request goes the same way: its
// tenant, its caller's roles and limits, locks and names are asked about, and events recorded.
type Origin uint8

// The origins.
const (
	OriginClient  Origin = iota // a client, by itself
	OriginElement               // of a batch
	OriginStep                  // a deployment, for a resource of its template
	OriginNested                // a deployment, to begin one that is nested in it
	OriginRemoval               // a deployment in complete mode, to delete what its template lacks
)

var origins = [...]string{"client", "element", "step", "nested", "removal"}

// String names the origin as the audit log does.
func (o Origin) String() string { return origins[o] }

// Inner reports whether the request is a part of a batch or a deployment: these wait for its
// answer, and hold its content.
func (x *Exchange) Inner() bool { return x.Origin != OriginClient }
