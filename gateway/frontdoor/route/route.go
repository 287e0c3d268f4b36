// Package route says what a resource of the front door is made of: routes, and
// handlers that are given a request whose content is read and whose subscription and
// group are resolved. It helps them to read content and to answer, also with pages of
// lists that it cuts from an ordered store (package fanout merges those of providers), and
// finds what locks and tags apply to.
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
	// Readable is what the caller may see of a list that it may see a part of; nil: all.
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
	// Action is what the request does at its scope ([routing.Request.Scope]), in the words
	// of roles; ActionOf, in its place, says so where the path decides. Where there is
	// neither, Open says why a caller needs no role.
	Action   string
	ActionOf func(*routing.Request) string
	Open     string
	// Partly lets in callers that may do this only somewhere below the scope: the handler
	// keeps to what the caller may see ([Request.Readable]).
	Partly bool
	// Excused, unless it is nil, reports whether the caller needs no role for this request.
	// It is asked of callers that have none.
	Excused func(context.Context, *exchange.Exchange) (bool, error)
	// OutlivesGroup: the group that the path names need not exist any more.
	OutlivesGroup bool
	// EndsAllBelow: locks below its path forbid the write as well, and its refusal names
	// them all.
	EndsAllBelow bool
	// IgnoresLocks lets a write pass the locks above its path: it is not subject to
	// them, or the store checks them.
	IgnoresLocks bool
	// Relaxed: the content need not be JSON as its standard has it. The handler reads it.
	Relaxed bool
}

// Jobs wakes the workers of a kind of job, where a client waits for one that was just
// created. Without that they find it within a second.
type Jobs interface{ Nudge(kind string) }

// EndsIn reports whether the last hop of a path is of a type, named without its
// namespace, and has so many segments: one for all that a scope has of it, two for one.
func EndsIn(q *routing.Request, namespace, typeName string, segments int) bool {
	if q.Path.Hops() == 0 {
		return false
	}
	hop := q.Path.LastHop()
	return hop.Len() == segments && arm.EqualFold(hop.Namespace(), namespace) && arm.EqualFold(hop.Segment(0), typeName)
}

// AnswerTagged answers with a body that has an entity tag. A GET by a client that
// has the body already is answered with 304.
func AnswerTagged(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, status int, etag string, body any) error {
	w.Header()["ETag"] = []string{etag}
	if r.Method == http.MethodGet && arm.ParsePreconditions(r.Header).NotModified(etag) {
		return x.Answer(w, http.StatusNotModified, nil)
	}
	return x.Answer(w, status, body)
}

// StatusOf is the status of a write that may have created what it names.
func StatusOf(created bool) int {
	if created {
		return http.StatusCreated
	}
	return http.StatusOK
}

// Preconditions returns what checks an entity tag, "" where there is nothing yet,
// against the conditions of a write.
func Preconditions(r *http.Request, x *exchange.Exchange) func(etag string) error {
	conditions := arm.ParsePreconditions(r.Header)
	return func(etag string) error {
		if fault := conditions.Write(etag, x.Request.Path.String()); fault != nil {
			return fault
		}
		return nil
	}
}

// Names are what a resource is called. Clients may send back what a GET showed them.
type Names struct{ ID, Name, Type string }

// Check refuses the first name that differs from the one that follows from the URL,
// without regard to case.
func (n Names) Check(want Names) *arm.Error {
	for _, m := range [...]struct{ member, got, want string }{{"id", n.ID, want.ID}, {"name", n.Name, want.Name}, {"type", n.Type, want.Type}} {
		if m.got != "" && !arm.EqualFold(m.got, m.want) {
			return arm.NewError(arm.InvalidRequestContent, "The member '"+m.member+"' is not that of the request URI. Path '"+m.member+"'").About(m.member)
		}
	}
	return nil
}

// TooLong refuses a member of n bytes.
func TooLong(member string, n, most int) *arm.Error {
	return arm.NewError(arm.InvalidRequestContent, fmt.Sprintf("The %s has %d bytes, and may have %d. Path '%[1]s'", member, n, most)).About(member)
}
