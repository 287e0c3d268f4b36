// Package route defines the routes and handlers of a resource of the front door. A
// handler gets a request whose content is read and whose subscription and group are
// resolved. The package helps to read content and to answer, also with pages of lists
// from an ordered store (package fanout merges lists of providers), and finds the scopes
// of locks, tags and roles.
package route

import (
	"context"
	"fmt"
	"net/http"

	"portico/arm"
	"portico/gateway/authorize"
	"portico/gateway/exchange"
	"portico/routing"
)

// Request is what was resolved and read of a request before its handler is called.
type Request struct {
	routing.Decision
	Content []byte
	// Readable is the part of a list that the caller may see; nil: all.
	Readable *authorize.Readable
}

// Handler answers a request, or returns an error.
type Handler func(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req Request) error

// Route is a route of one resource. A Path is written folded and names its variable
// segments in braces. A path of varying length is given by Matches instead.
type Route struct {
	Method  string
	Path    string
	Matches func(*routing.Request) bool
	Handle  Handler
	// Action is the role's action that the request needs at its scope
	// ([routing.Request.Scope]). ActionOf replaces it if the action depends on the path.
	// If there is neither, Open is the reason why a caller needs no role.
	Action   string
	ActionOf func(*routing.Request) string
	Open     string
	// Partly also admits callers that may do this only somewhere below the scope: the
	// handler must respect [Request.Readable].
	Partly bool
	// Excused, if not nil, reports whether the caller needs no role for this request. It
	// is called for callers without one.
	Excused func(context.Context, *exchange.Exchange) (bool, error)
	// OutlivesGroup: the group that the path names need not exist any more.
	OutlivesGroup bool
	// EndsAllBelow: locks below the path forbid the write as well, and its refusal names
	// them all.
	EndsAllBelow bool
	// IgnoresLocks: locks do not forbid the write, or the store checks them.
	IgnoresLocks bool
	// Relaxed: the content need not be standard JSON. The handler reads it.
	Relaxed bool
}

// Jobs wakes the workers of a kind of job, if a client waits for a job that was just
// created. Otherwise they find it within a second.
type Jobs interface{ Nudge(kind string) }

// EndsIn reports whether the last hop of a path is of a type, named without its
// namespace, and has the given number of segments: one for all of a scope, two for a
// single one.
func EndsIn(q *routing.Request, namespace, typeName string, segments int) bool {
	if q.Path.Hops() == 0 {
		return false
	}
	hop := q.Path.LastHop()
	return hop.Len() == segments && arm.EqualFold(hop.Namespace(), namespace) && arm.EqualFold(hop.Segment(0), typeName)
}

// AnswerTagged answers with a body that has an entity tag. It answers 304 to the GET of a
// client that has the body already.
func AnswerTagged(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, status int, etag string, body any) error {
	w.Header()["ETag"] = []string{etag}
	if r.Method == http.MethodGet && arm.ParsePreconditions(r.Header).NotModified(etag) {
		return x.Answer(w, http.StatusNotModified, nil)
	}
	return x.Answer(w, status, body)
}

// StatusOf returns the status for a write that may have created its resource.
func StatusOf(created bool) int {
	if created {
		return http.StatusCreated
	}
	return http.StatusOK
}

// Preconditions returns a function that checks the conditions of a write against the
// current entity tag, "" if nothing exists yet.
func Preconditions(r *http.Request, x *exchange.Exchange) func(etag string) error {
	conditions := arm.ParsePreconditions(r.Header)
	return func(etag string) error {
		if fault := conditions.Write(etag, x.Request.Path.String()); fault != nil {
			return fault
		}
		return nil
	}
}

// Names are the names in a resource's body, which clients may send back as a GET showed
// them.
type Names struct{ ID, Name, Type string }

// Check refuses the first name that differs from the one that follows from the URL,
// without regard to case.
func (n Names) Check(want Names) *arm.Error {
	for _, m := range [...]struct{ member, got, want string }{{"id", n.ID, want.ID}, {"name", n.Name, want.Name}, {"type", n.Type, want.Type}} {
		if m.got != "" && !arm.EqualFold(m.got, m.want) {
			return arm.NewError(arm.InvalidRequestContent, "The member '"+m.member+"' is not that of the request URI. Path '"+m.member+"'").WithTarget(m.member)
		}
	}
	return nil
}

// TooLong returns the error for a member of n bytes.
func TooLong(member string, n, most int) *arm.Error {
	return arm.NewError(arm.InvalidRequestContent, fmt.Sprintf("The %s has %d bytes, and may have %d. Path '%[1]s'", member, n, most)).WithTarget(member)
}
