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

// Reader reads one page; *upstream.Client is one.
type Reader interface {
	Read(context.Context, upstream.Call) (upstream.Answer, error)
}

// Collection is a list as one region has it.
type Collection struct {
	Reader    Reader
	Endpoint  *regions.Endpoint
	Namespace string
	Public    *url.URL
	Path      arm.Path
	Query     string      // of the first page
	Header    http.Header // of each call; not changed
	Caller    string      // as in [upstream.Call]
}

// Each reads the collection to its end and hands over page after page; one is
// held at a time. The error is an *arm.Error for what the provider did wrong, or
// what visit returned. A provider that does not know the scope has none.
func (c Collection) Each(ctx context.Context, visit func(Page) error) error {
	r := region{name: c.Endpoint.Region, query: c.Query}
	for r.state != done {
		turned, reply, err := c.step(ctx, r, call{})
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

// call is what one call for a page has of its own.
type call struct {
	reserve func(ctx context.Context, n int64) error
	repeats bool
}

// longestRequestID bounds the ids of providers' answers that clients are told.
const longestRequestID = 128

// reply is a page that a region gave.
type reply struct {
	page      Page
	requestID string // the provider's
}

// step asks a region for the page that it has come to, and returns the region as
// it is behind that page.
func (c Collection) step(ctx context.Context, r region, as call) (region, reply, error) {
	answer, err := c.Reader.Read(ctx, upstream.Call{
		Endpoint: c.Endpoint, Path: c.Path.Escaped(), Query: r.query, Header: c.Header, Caller: c.Caller,
		Reserve: as.reserve, Repeats: as.repeats,
	})
	if err != nil {
		return r, reply{}, c.unread(err)
	}
	got := reply{requestID: answer.Header.Get(tracing.RequestHeader)}
	if len(got.requestID) > longestRequestID { // those of all regions go into one header
		got.requestID = ""
	}
	switch {
	case answer.Status == http.StatusNotFound && r.state == todo && unknownScope(answer.Body):
		r.state = done
		return r, got, nil
	case answer.Status != http.StatusOK:
		return r, got, c.refused(answer)
	}
	if got.page, err = ParsePage(answer.Body); err != nil {
		return r, got, c.invalid(err.Error())
	}
	links := Links{Public: c.Public, Endpoint: c.Endpoint, Path: c.Path.String()}
	next, err := links.Query(got.page.NextLink)
	switch {
	case err != nil:
		return r, got, c.invalid(err.Error())
	case next == "":
		r.state = done
		return r, got, nil
	}
	asked := markOf(r.query)
	if mark := markOf(next); mark == asked || mark == markOf(c.Query) || !r.turn(next, len(got.page.Elements) == 0) {
		return r, got, c.invalid("its pages never end")
	}
	return r, got, nil
}

// unread tells why there is no answer. What reserve said passes.
func (c Collection) unread(err error) error {
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
