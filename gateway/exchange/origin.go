package exchange

// Origin is the kind of sender of a request. All origins pass the same checks of tenant,
// roles, limits, locks and names, and record the same events.
type Origin uint8

// The origins.
const (
	OriginClient  Origin = iota // a client
	OriginElement               // a batch
	OriginStep                  // a deployment, for a resource of its template
	OriginNested                // a deployment, to begin one that is nested in it
	OriginRemoval               // a deployment in complete mode, to delete what its template lacks
)

var originNames = [...]string{"client", "element", "step", "nested", "removal"}

// String names the origin as the audit log does.
func (o Origin) String() string { return originNames[o] }

// Inner reports whether the request is part of a batch or a deployment, which waits for
// its answer and holds its content.
func (x *Exchange) Inner() bool { return x.Origin != OriginClient }
