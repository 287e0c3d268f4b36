package proxy

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"portico/arm"
	"portico/fanout"
	"portico/gateway/exchange"
	"portico/regions"
	"portico/routing"
)

// Headers of merged lists: whether every region that may hold elements has answered so
// far, and the ids that the providers gave to the requests for this page.
const (
	completedHeader     = "X-Ms-Portico-Completed"
	originalRequestsIDs = "X-Ms-Original-Request-Ids"
)

// regionFailure reads what the client wants if a region fails; Inherit if it does not
// say.
func regionFailure(x *exchange.Exchange) (regions.RegionFailure, error) {
	wanted := regions.Inherit
	for _, value := range x.OnRegionFailure {
		switch strings.TrimSpace(value) {
		case regions.Partial.String():
			wanted = regions.Partial
		case regions.Fail.String():
			wanted = regions.Fail
		default:
			return wanted, badRegionFailure("it is partial or fail")
		}
	}
	if len(x.OnRegionFailure) > 1 {
		return wanted, badRegionFailure("it is given twice")
	}
	return wanted, nil
}

func badRegionFailure(why string) *arm.Error {
	name := strings.ToLower(exchange.OnRegionFailureHeader)
	return arm.NewError(arm.InvalidRequestHeader, name, why).WithTarget(name)
}

// conditionalHeaders are not sent to regions: a merged page has no entity tag, and a
// region's answer to them would not be a page.
var conditionalHeaders = []string{"If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since"}

// pageRequest builds the request for a page of a merged list.
func (p *Proxy) pageRequest(r *http.Request, x *exchange.Exchange, d *Resolved) (fanout.Request, error) {
	if fault := x.Request.Query.CheckOptions(); fault != nil {
		return fanout.Request{}, fault
	}
	wanted, err := regionFailure(x)
	if err != nil {
		return fanout.Request{}, err
	}
	h, own := p.outboundHeaders(r, x, d, http.MethodGet)
	own.AddTo(h)
	for _, name := range conditionalHeaders {
		delete(h, name)
	}
	request := fanout.Request{
		Namespace: x.Request.Provider.Namespace, Type: x.Request.Type.FullName, Path: x.Request.Path, Query: x.Request.Query,
		Header: h, Caller: x.Caller(), Principal: x.Principal.Caller(), ReceivedAt: x.Started,
		Endpoints: d.Endpoints, Endpoint: x.Request.Type.Endpoint,
		ClientMode: wanted, ConfigMode: cmp.Or(x.Request.Type.OnRegionFailure, p.Config.Lists.OnRegionFailure),
	}
	if d.readable != nil {
		request.Shows = d.readable.Shows
	}
	if d.readable != nil || fanout.HasSkipToken(request.Query) {
		request.Parts = p.parts(x, d)
	}
	if d.oneEndpoint() {
		request.Sole, request.Endpoints = true, []*regions.Endpoint{d.Endpoint}
	}
	return request, nil
}

// oneEndpoint reports whether a single endpoint serves a list.
func (d *Resolved) oneEndpoint() bool { return d.Mode == routing.Forward }

// isList reports whether a request asks for the resources of a type.
func isList(q *routing.Request) bool {
	return q.Class == routing.Collection && q.Method == http.MethodGet && q.Type != nil
}

// continuesMergedList reports whether a request asks for a further page of a list whose
// pages Portico makes. It continues with the regions it began with, even if by now fewer
// serve or hold any, or the caller may read all of the list.
func (p *Proxy) continuesMergedList(x *exchange.Exchange) bool {
	q := x.Request
	return isList(q) && fanout.HasSkipToken(q.Query) &&
		p.Lister.OwnsToken(fanout.Request{Path: q.Path, Query: q.Query, Principal: x.Principal.Caller()})
}

// emptyList answers a list that no region can hold elements of.
func (p *Proxy) emptyList(w http.ResponseWriter, x *exchange.Exchange) error {
	q := x.Request
	if fault := q.Query.CheckOptions(); fault != nil {
		return fault
	}
	if _, err := regionFailure(x); err != nil {
		return err
	}
	if q.Type.ListsFanOut() && len(q.Type.EffectiveRegions()) > 1 && fanout.HasSkipToken(q.Query) {
		return arm.NewError(arm.InvalidSkipToken).WithTarget("$skipToken")
	}
	h := w.Header()
	h[completedHeader] = []string{"true"}
	return x.Answer(w, http.StatusOK, exchange.List{Value: []any{}})
}

// chargeRegions returns a function that charges the caller for each region that a page
// asks. The first one was charged when the request came in.
func chargeRegions(x *exchange.Exchange) func(int) {
	paid := 1
	return func(regions int) {
		free := min(paid, regions)
		paid -= free
		x.Ticket.Charge(regions - free)
	}
}

// mergedList answers a page of a list that covers several regions, or that the caller
// sees only in part.
func (p *Proxy) mergedList(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, d *Resolved) (retryReason, error) {
	request, err := p.pageRequest(r, x, d)
	if err != nil {
		return ended, err
	}
	x.Merged = true
	request.Charge = chargeRegions(x)
	merged, err := p.Lister.Page(r.Context(), request)
	if why, err := p.confirmEmpty(r.Context(), x, d, merged, err); err != nil || why != ended {
		return why, err
	}
	if err != nil {
		if fault, ok := errors.AsType[*arm.Error](err); ok && (fault.Status >= http.StatusInternalServerError || fault.Status == http.StatusTooManyRequests) {
			w.Header()[completedHeader] = []string{"false"}
		}
		return ended, err
	}
	defer merged.Release()
	h := w.Header()
	h[completedHeader] = []string{strconv.FormatBool(merged.Complete)}
	if len(merged.RequestIDs) > 0 {
		h[originalRequestsIDs] = []string{strings.Join(merged.RequestIDs, ";")}
	}
	x.SendJSON(r.Context(), w, merged.Size(), func(w io.Writer) error {
		_, err := merged.WriteTo(w)
		return err
	})
	return ended, nil
}

// confirmEmpty does what confirmAbsence does for a page of a list that a single endpoint
// serves.
func (p *Proxy) confirmEmpty(ctx context.Context, x *exchange.Exchange, d *Resolved, merged *fanout.MergedPage, failure error) (retryReason, error) {
	fault, failed := errors.AsType[*arm.Error](failure)
	empty := merged != nil && merged.Count == 0 && merged.NextLink == "" || failed && fault.Status == http.StatusNotFound
	if !empty || !d.oneEndpoint() || !d.Memory.Any() {
		return ended, nil
	}
	why, err := p.confirmAbsence(ctx, x, d)
	if merged != nil && (err != nil || why != ended) {
		merged.Release()
	}
	return why, err
}
