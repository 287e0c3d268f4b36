package admin

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"portico/arm"
	"portico/gateway/admin/api"
	"portico/inventory"
)

// mostScanned bounds the rows read for one page of matching resources.
const mostScanned = 5000

// listResources lists the rows of ?subscription= after ?after=, an ID. A page that is not
// full may have a next one, because a page reads a bounded number of rows.
func (l *listener) listResources(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	query := r.URL.Query()
	sub, limit, err := l.namedSubscription(r)
	if err != nil {
		return 0, nil, err
	}
	wanted := inventory.ResourceQuery{
		Subscription: sub.ID, Group: query.Get("resourceGroup"), Type: query.Get("resourceType"), After: query.Get("after"), Limit: largestPage,
	}
	region := arm.Location(query.Get("region"))
	page := api.Page[api.Resource]{Value: []api.Resource{}}
	for scanned := 0; ; {
		rows, _, err := l.Store.Candidates(r.Context(), wanted)
		if err != nil {
			return 0, nil, fmt.Errorf("list resources: %w", err)
		}
		for _, row := range rows {
			if wanted.Match(&row) && (region == "" || row.Region == region) {
				if len(page.Value) == limit {
					page.NextLink = nextPage("/admin/resources", query, wanted.After)
					return http.StatusOK, page, nil
				}
				page.Value = append(page.Value, rowOf(&row))
			}
			wanted.After = row.Key
		}
		if len(rows) < wanted.Limit {
			if region != "" && len(page.Value) == 0 && !query.Has("after") {
				err = l.checkRegion(region)
			}
			return http.StatusOK, page, err
		}
		if scanned += len(rows); scanned >= mostScanned {
			page.NextLink = nextPage("/admin/resources", query, wanted.After)
			return http.StatusOK, page, nil
		}
	}
}

// namedSubscription returns the subscription that ?subscription= names, and ?limit=. The
// error tells the caller that there is no such subscription.
func (l *listener) namedSubscription(r *http.Request) (sub inventory.Subscription, limit int, err error) {
	query := r.URL.Query()
	id := query.Get("subscription")
	if !arm.ValidGUID(id) {
		return sub, 0, arm.NewError(arm.InvalidSubscriptionID, id).WithTarget("subscription")
	}
	switch sub, err = l.Store.Subscription(r.Context(), arm.Fold(id)); {
	case errors.Is(err, inventory.ErrNotFound):
		return sub, 0, arm.NewError(arm.SubscriptionNotFound, id).WithTarget("subscription")
	case err != nil:
		return sub, 0, fmt.Errorf("read a subscription: %w", err)
	}
	limit, err = pageSize(query)
	return sub, limit, err
}

// checkRegion returns an error if the map lacks a region.
func (l *listener) checkRegion(region string) error {
	if l.Config.Map.HasRegion(region) {
		return nil
	}
	var names []string
	for _, r := range regionsOf(l.Config.Map) {
		names = append(names, r.Name)
	}
	return arm.NewError(arm.InvalidQueryParameter, "region", "it must be one of "+strings.Join(names, ", ")+", or a region in which the subscription "+
		"has rows").
		WithTarget("region")
}

func rowOf(row *inventory.Resource) api.Resource {
	return api.Resource{
		ID: row.ID, Type: row.TypeName, Region: row.Region, Phase: row.Phase.String(), Flags: flagsOf(row),
		Created: timeOf(row.Created), Changed: timeOf(row.Changed),
	}
}
