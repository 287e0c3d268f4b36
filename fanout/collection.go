package fanout

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"portico/arm"
	"portico/limits"
	"portico/regions"
	"portico/tracing"
	"portico/upstream"
)

// Reader reads one page. *upstream.Client implements it.
type Reader interface {
	Read(context.Context, upstream.Call) (upstream.Answer, error)
}

// Collection is the part of a list that one region holds.
type Collection struct {
	Reader    Reader
	Endpoint  *regions.Endpoint
	Namespace string
	Public    *url.URL
	Path      arm.Path
	Query     string      // for the first page
	Header    http.Header // sent with each call; not modified
	Caller    string      // as in [upstream.Call]

	sole           bool // as in [Request]
	singleResource bool // the path names a resource
}

// Each reads the collection to its end and calls visit with each page; it holds one page
// at a time. The error is an *arm.Error if the provider misbehaved, or the error of
// visit. If the provider does not know the scope, the collection is empty.
func (c Collection) Each(ctx context.Context, visit func(Page) error) error {
	r := regionCursor{name: c.Endpoint.Region, query: c.Query}
	for r.state != exhausted {
		turned, reply, err := c.fetchPage(ctx, r, pageOptions{})
		if err != nil {
			return err
		}
		if err := visit(reply.page); err != nil {
			return err
		}
		r = turned
	}
	return nil
}

// pageOptions are the parameters that differ between calls for a page.
type pageOptions struct {
	reserve func(ctx context.Context, n int64) error
	retry   bool
	buffers *buffers // nil: the page gets its own memory
}

// maxRequestID bounds the provider request ids that are forwarded to clients.
const maxRequestID = 128

type pageReply struct {
	page      Page
	requestID string // the provider's
}

// fetchPage reads the current page of a region and returns the cursor of the page
// after it.
func (c Collection) fetchPage(ctx context.Context, r regionCursor, as pageOptions) (regionCursor, pageReply, error) {
	call := upstream.Call{
		Endpoint: c.Endpoint, Path: c.Path.Escaped(), Query: r.query, Header: c.Header, Caller: c.Caller, Provider: c.Namespace,
		Reserve: as.reserve, IsRetry: as.retry,
	}
	pooled := false
	if as.buffers != nil {
		call.Buffer = func(n int64) []byte {
			pooled = true
			return as.buffers.text(n)
		}
	}
	answer, err := c.Reader.Read(ctx, call)
	if err != nil {
		return r, pageReply{}, c.readError(err)
	}
	got := pageReply{requestID: answer.Header.Get(tracing.RequestHeader)}
	if len(got.requestID) > maxRequestID { // one header carries the ids of all regions
		got.requestID = ""
	}
	switch {
	case answer.Status == http.StatusNotFound && r.state == notStarted && !c.sole && unknownScope(answer.Body):
		r.state = exhausted
		return r, got, nil
	case answer.Status != http.StatusOK:
		return r, got, c.statusError(answer)
	}
	switch {
	case c.singleResource:
		if got.page, err = singlePage(answer.Body); err == nil {
			got.page.pooled, r.state = pooled, exhausted
			return r, got, nil
		}
	case as.buffers != nil:
		got.page, err = parsePage(answer.Body, as.buffers.elementsOf(answer.Body))
	default:
		got.page, err = ParsePage(answer.Body)
	}
	if err != nil {
		return r, got, c.invalid(err.Error())
	}
	got.page.pooled = pooled
	links := NextLinks{Public: c.Public, Endpoint: c.Endpoint, Path: c.Path.String(), Longest: MaxTarget}
	next, err := links.Query(got.page.NextLink)
	switch {
	case err != nil:
		return r, got, c.invalid(err.Error()).WithCause(err)
	case next == "":
		r.state = exhausted
		return r, got, nil
	}
	hash := queryHash(r.query)
	if mark := queryHash(next); mark == hash || mark == queryHash(c.Query) || !r.advance(next, len(got.page.Elements) == 0) {
		return r, got, c.invalid("its pages never end")
	}
	return r, got, nil
}

// readError classifies a failed read. Errors of reserve are returned unchanged.
func (c Collection) readError(err error) error {
	switch {
	case errors.Is(err, limits.ErrNoRoom), errors.Is(err, limits.ErrBusy):
		return err
	case errors.Is(err, upstream.ErrOverBudget):
		return upstream.ErrOverBudget
	}
	return readFault(err, c.Namespace)
}

func (c Collection) invalid(reason string) *arm.Error {
	return arm.NewError(arm.InvalidProviderResponse, c.Namespace, reason)
}
