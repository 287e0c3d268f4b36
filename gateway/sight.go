package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"portico/arm"
	"portico/fanout"
	"portico/inventory"
	"portico/locate"
	"portico/regions"
	"portico/routing"
	"portico/upstream"
)

// sight asks one endpoint whether it holds a resource that has no row there. It
// returns the sighting to adopt, or nil where the provider has no such resource;
// a fault says that the provider told neither.
func (g *Gateway) sight(ctx context.Context, x *exchange, sought routing.Sought, endpoint *regions.Endpoint) (*inventory.Sighting, *arm.Error) {
	q, fault := routing.ClassifyID(g.router.Map, http.MethodGet, sought.ID)
	if fault != nil {
		return nil, fault
	}
	since := g.store.Time()
	answer, fault := g.inquire(ctx, x, sought, endpoint, q.Path.Escaped(), "api-version="+sought.APIVersion)
	if fault != nil || answer.Status == http.StatusNotFound {
		return nil, fault
	}
	seen := locate.NewDiscovery(g.router.Map, q, endpoint.Region, sought.APIVersion, answer.Body, since)
	return &seen, nil
}

// inquire sends a GET of the front door's own on behalf of a client. Its answer
// is a 200 or a 404; all else is a fault.
func (g *Gateway) inquire(ctx context.Context, x *exchange, sought routing.Sought, endpoint *regions.Endpoint, path, query string) (upstream.Answer, *arm.Error) {
	namespace := sought.Type.Provider.Namespace
	h := http.Header{}
	g.stamp(h, x, x.principal.In(sought.Subscription.TenantID), fanout.PublicLink(g.public, path, query))
	answer, err := g.upstream.Read(ctx, upstream.Call{Endpoint: endpoint, Path: path, Query: query, Header: h, Caller: x.caller()})
	if err != nil {
		var fault *upstream.Fault
		if errors.As(err, &fault) {
			return answer, fault.ARM(namespace)
		}
		return answer, arm.Unreachable(namespace, endpoint.Region).Because(err)
	}
	if answer.Status != http.StatusOK && answer.Status != http.StatusNotFound {
		fault := arm.NewError(arm.InvalidProviderResponse, namespace, fmt.Sprintf("status %d", answer.Status)).WithStatus(answer.Status)
		pause, _ := upstream.RetryAfter(answer.Header, time.Now())
		fault.RetryAfter = min(pause, longestRetry)
		return answer, fault
	}
	return answer, nil
}
