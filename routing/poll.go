package routing

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"portico/arm"
)

// operationKinds lists the suffixes, in lower case, of the type names that
// providers use for operations.
var operationKinds = []string{
	"operations", "operation", "operationresults", "operationresult",
	"operationstatuses", "operationstatus", "operationsstatus", "operationsstatuses",
}

func operationKind(segment string) bool {
	folded := arm.Fold(segment)
	return slices.ContainsFunc(operationKinds, func(kind string) bool { return strings.HasSuffix(folded, kind) })
}

// operationID returns the operation's id in the path or above it; "" if no
// segment names one.
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
		// Some servers ignore white space, and everything after a semicolon.
		id, _, _ := strings.Cut(hop.Segment(i+1), ";")
		if id = strings.TrimSpace(id); id != "" {
			return id
		}
	}
	return ""
}

// firstType returns the index of the first possible type in the last hop:
// after the location, if the path has one.
func (r *Request) firstType() int {
	if r.Location != "" {
		return 2
	}
	return 0
}

// OperationIdentity returns the common part of all URLs of an operation: its
// namespace and id, without the rest of the path and the query. If no usual
// type names the operation, its identity is the path with its location
// normalised. It is "" for paths that may name something else.
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

// PollToken returns the key of a recorded polling URL: path and query without the host,
// because clients may use any of the front door's names, and without the api-version,
// because some clients set their own.
func PollToken(path string, q Query) string {
	sum := sha256.Sum256([]byte(arm.Fold(path) + "?" + q.Without("api-version")))
	return hex.EncodeToString(sum[:])
}
