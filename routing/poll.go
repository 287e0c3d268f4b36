package routing

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"portico/arm"
)

// operationKinds are the endings of the names under which providers have their
// operations polled, in lower case.
var operationKinds = []string{"operations", "operation", "operationresults", "operationresult", "operationstatuses", "operationstatus", "operationsstatus", "operationsstatuses"}

func operationKind(segment string) bool {
	folded := arm.Fold(segment)
	return slices.ContainsFunc(operationKinds, func(kind string) bool { return strings.HasSuffix(folded, kind) })
}

// operationID returns the operation that the path names, or something below it, "" where
// none is named as such.
func (r *Request) operationID() string {
	if r.Type != nil || r.Provider == nil || r.Class == Own || r.Class == NoRoute {
		return ""
	}
	hop := r.Path.LastHop()
	for i := r.firstType(); i+1 < hop.Len(); i += 2 {
		kind := hop.Segment(i)
		if !operationType(kind) && (!operationKind(kind) || r.typeOf(hop, i/2+1) != nil) {
			continue
		}
		// Some servers take off what follows a semicolon, and white space.
		id, _, _ := strings.Cut(hop.Segment(i+1), ";")
		if id = strings.TrimSpace(id); id != "" {
			return id
		}
	}
	return ""
}

// firstType is where the first type may stand in the last hop: behind the location,
// if it names one.
func (r *Request) firstType() int {
	if r.Location != "" {
		return 2
	}
	return 0
}

// OperationIdentity returns what is one for all URLs of an operation: its namespace and
// id, whatever else the path says, and the query. Where the path names an operation
// under no usual name, its identity is the path, less the spelling of a location. It
// is "" for paths that are not an operation's alone.
func (r *Request) OperationIdentity() string {
	if r.Type != nil || r.Provider == nil {
		return ""
	}
	hop := r.Path.LastHop()
	name := r.operationID()
	if name == "" {
		name = r.Path.String()
		if r.Location != "" {
			name = "/" + r.Location
			for i := 2; i < hop.Len(); i++ {
				name += "/" + hop.Segment(i)
			}
		}
	}
	sum := sha256.Sum256([]byte(arm.Fold(hop.Namespace() + "\n" + name)))
	return hex.EncodeToString(sum[:])
}

// PollToken returns the key under which a polling URL is recorded: by path and
// query alone, since clients may send it to any of the front door's names. The
// api-version is left out, for some clients set their own.
func PollToken(path string, q Query) string {
	sum := sha256.Sum256([]byte(arm.Fold(path) + "?" + q.Without("api-version")))
	return hex.EncodeToString(sum[:])
}
