package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"portico/arm"
	"portico/inventory"
	"portico/regions"
	"portico/routing"
	"portico/upstream"
	"portico/upstream/answers"
)

// NewDiscovery returns the row for a tracked resource that the index does not have, from
// a GET of it: q names the resource by its path, region is the region of the endpoint
// that answered with body (see [CheckShown]), version is the api-version, and since is
// when the resource was listed or asked for, by the store's time. Casing, location and
// creator are the provider's.
func NewDiscovery(m *regions.Map, q *routing.Request, region, version string, body []byte, since time.Time) inventory.Discovery {
	var shown struct {
		ID         string `json:"id"`
		Location   string `json:"location"`
		SystemData struct {
			CreatedBy     string `json:"createdBy"`
			CreatedByType string `json:"createdByType"`
			CreatedAt     string `json:"createdAt"`
		} `json:"systemData"`
	}
	// Unreadable members stay empty: the resource exists all the same.
	_ = json.Unmarshal(body, &shown)
	created, _ := time.Parse(time.RFC3339, shown.SystemData.CreatedAt)
	// The provider's spelling, if it names the same resource.
	if spelt, fault := routing.ClassifyID(m, http.MethodGet, shown.ID); fault == nil && spelt.Key() == q.Key() {
		q = spelt
	}
	row := inventory.Resource{
		Subscription: q.Path.Subscription(), ID: q.ID(), Group: q.Path.Group(), Type: q.Type.Key, TypeName: q.Type.FullName,
		Name: q.Name(), Region: region, Location: arm.Location(shown.Location), APIVersion: version,
		Creator: inventory.Creator{Name: shown.SystemData.CreatedBy, Kind: shown.SystemData.CreatedByType}, Created: created,
	}
	hop, segments := q.Path.LastHop(), 0
	for t := q.Type.Parent; t != nil && row.Parent == ""; t = t.Parent {
		segments += 2
		if t.Kind == regions.Tracked {
			row.Parent = arm.Fold(q.Path.Prefix(hop.Start() + 2 + hop.Len() - segments))
		}
	}
	state, details := inventory.ReadDetails(body)
	if row.ProvisioningState = state.State(); details != nil {
		row.Details = *details
	}
	return inventory.Discovery{Resource: row, ListedSince: since}
}

// discover asks one endpoint, on a caller's behalf, for a resource that has no row there.
// It returns nil if the provider has no such resource; a fault means that the provider
// gave no answer.
func (p Prober) discover(ctx context.Context, caller Caller, sought routing.SearchedResource, endpoint *regions.Endpoint) (*inventory.Discovery, *arm.Error) {
	q, fault := routing.ClassifyID(p.Map, http.MethodGet, sought.ID)
	if fault != nil {
		return nil, fault
	}
	path, query := q.Path.Escaped(), "api-version="+sought.APIVersion
	header := http.Header{}
	stamps := caller.Stamps(sought.Subscription.TenantID, p.Public, answers.Referer(p.Public, path, query))
	stamps.Set(header)
	since := p.Store.Now()
	answer, err := p.Upstream.Read(ctx,
		upstream.Call{Endpoint: endpoint, Path: path, Query: query, Header: header, Caller: caller.Share, Provider: sought.Type.Provider.Namespace})
	namespace := sought.Type.Provider.Namespace
	switch {
	case err == nil && answer.Status == http.StatusNotFound:
		return nil, nil
	case err == nil:
		err = CheckShown(answer)
	}
	if err != nil {
		return nil, faultOf(err, namespace, endpoint.Region)
	}
	seen := NewDiscovery(p.Map, q, endpoint.Region, sought.APIVersion, answer.Body, since)
	return &seen, nil
}

// faultOf returns the fault of a region that did not answer whether a resource exists:
// its call failed, or was answered by a [StatusError].
func faultOf(err error, namespace, region string) *arm.Error {
	if fault, ok := errors.AsType[*upstream.Fault](err); ok {
		return fault.ARM(namespace)
	}
	if odd, ok := errors.AsType[StatusError](err); ok {
		if odd.Unreadable() {
			return arm.NewError(arm.InvalidProviderResponse, namespace, "a resource that cannot be read").WithTarget(region)
		}
		fault := arm.NewError(arm.InvalidProviderResponse, namespace, fmt.Sprintf("status %d", odd.Status)).WithStatus(odd.Status)
		fault.RetryAfter = min(odd.RetryAfter, arm.MaxRetryAfter)
		return fault
	}
	return arm.Unreachable(namespace, region).WithCause(err)
}
