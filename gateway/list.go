package gateway

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"portico/arm"
	"portico/config"
	"portico/fanout"
	"portico/gateway/exchange"
	"portico/regions"
	"portico/routing"
)

// Headers of lists over several regions: whether every region that may hold
// elements has answered so far, and what a client wants where one does not.
const (
	completedHeader       = "X-Ms-Portico-Completed"
	onRegionFailureHeader = "X-Ms-Portico-On-Region-Failure"
	originalRequestsIDs   = "X-Ms-Original-Request-Ids"
)

// listing says how lists over several regions are answered, but for the memory
// that all of them share.
func listing(g *Gateway, c *config.Config, keys *fanout.Keys) fanout.Options {
	return fanout.Options{
		Reader: g.upstream, Keys: keys, Public: c.Server.PublicURL,
		Memory: c.Lists.Memory, PageSize: c.Limits.AnswerBody,
		TokenLifetime: c.Lists.TokenLifetime, Timeout: c.Upstream.CallTimeout, Metrics: g.registry,
	}
}

// regionFailure reads what the client wants where a region fails, Inherit where
// it does not say.
func regionFailure(x *exchange.Exchange) (regions.RegionFailure, error) {
	wanted := regions.Inherit
	for _, value := range x.OnRegionFailure {
		switch strings.TrimSpace(value) {
		case regions.Partial.String():
			wanted = regions.Partial
		case regions.Fail.String():
			wanted = regions.Fail
		default:
			return wanted, arm.NewError(arm.InvalidRequestHeader, strings.ToLower(onRegionFailureHeader), "it is partial or fail").About(strings.ToLower(onRegionFailureHeader))
		}
	}
	if len(x.OnRegionFailure) > 1 {
		return wanted, arm.NewError(arm.InvalidRequestHeader, strings.ToLower(onRegionFailureHeader), "it is given twice").About(strings.ToLower(onRegionFailureHeader))
	}
	return wanted, nil
}

// ofOneRepresentation are headers that ask for one representation on condition. A
// page that is put together of several has no entity tag, and what a region would
// answer to them is no page.
var ofOneRepresentation = []string{"If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since"}

// pageRequest is the request for a page of the list that x asks for.
func (g *Gateway) pageRequest(r *http.Request, x *exchange.Exchange, p proxied) (fanout.Request, error) {
	asked, err := regionFailure(x)
	if err != nil {
		return fanout.Request{}, err
	}
	setting := x.Request.Type.OnRegionFailure
	if setting == regions.Inherit {
		setting = g.config.Lists.OnRegionFailure
	}
	h := g.outbound(r, x, p, http.MethodGet).Header
	for _, name := range ofOneRepresentation {
		delete(h, name)
	}
	return fanout.Request{
		Namespace: x.Request.Provider.Namespace, Path: x.Request.Path, Query: x.Request.Query,
		Header: h, Caller: x.Caller(), ReceivedAt: x.Started,
		Endpoints: p.Endpoints, Endpoint: x.Request.Type.Endpoint,
		ClientMode: asked, ConfigMode: setting,
	}, nil
}

// sealed holds for a further page of a merged list. The walk goes on through the
// regions that it began with, also where fewer serve or hold any by now.
func (g *Gateway) sealed(x *exchange.Exchange) bool {
	q := x.Request
	return q.Class == routing.Collection && q.Method == http.MethodGet && q.Type.Fans() && fanout.HasSkipToken(q.Query) &&
		g.lister.OwnsToken(fanout.Request{Path: q.Path, Query: q.Query})
}

// emptyList answers a collection that no region can hold any of.
func (g *Gateway) emptyList(w http.ResponseWriter, x *exchange.Exchange) error {
	q := x.Request
	if _, err := regionFailure(x); err != nil {
		return err
	}
	if q.Type.Fans() && len(q.Type.EffectiveRegions()) > 1 && fanout.HasSkipToken(q.Query) {
		return arm.NewError(arm.InvalidSkipToken).About("$skipToken")
	}
	h := w.Header()
	h[completedHeader] = []string{"true"}
	return x.Answer(w, http.StatusOK, exchange.List{Value: []any{}})
}

// mergedList answers a page of a collection that may lie in several regions.
func (g *Gateway) mergedList(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, p proxied) error {
	request, err := g.pageRequest(r, x, p)
	if err != nil {
		return err
	}
	x.Merged = true
	merged, err := g.lister.Page(r.Context(), request)
	if err != nil {
		var fault *arm.Error
		if errors.As(err, &fault) && (fault.Status >= http.StatusInternalServerError || fault.Status == http.StatusTooManyRequests) {
			w.Header()[completedHeader] = []string{"false"}
		}
		return err
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
	return nil
}
