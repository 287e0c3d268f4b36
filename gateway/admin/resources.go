package admin

import (
	"net/http"
	"net/url"

	"portico/arm"
	"portico/gateway/admin/api"
	"portico/inventory"
)

func (l *listener) resourceRoutes() []route {
	return []route{
		{http.MethodGet, "/admin/resources", l.listResources},
		{http.MethodGet, "/admin/resource", l.getResource},
	}
}

// mostPassed is how many rows one page of resources looks at for those that are wanted.
const mostPassed = 5000

// listResources lists the rows of ?subscription=, behind ?after=, an ID. A page that is not
// full may have a next one: it looks at a bounded number of rows.
func (l *listener) listResources(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	query := r.URL.Query()
	sub, err := neededSubscription(query)
	if err != nil {
		return 0, nil, err
	}
	limit, err := pageSize(query)
	if err != nil {
		return 0, nil, err
	}
	wanted := inventory.ResourceQuery{
		Subscription: sub, Group: query.Get("resourceGroup"), Type: query.Get("resourceType"), After: query.Get("after"), Limit: largestPage,
	}
	region := arm.Location(query.Get("region"))
	page := api.Page[api.Resource]{Value: []api.Resource{}}
	for passed := 0; ; {
		rows, err := l.Store.Candidates(r.Context(), wanted)
		if err != nil {
			return 0, nil, err
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
			return http.StatusOK, page, nil
		}
		if passed += len(rows); passed >= mostPassed {
			page.NextLink = nextPage("/admin/resources", query, wanted.After)
			return http.StatusOK, page, nil
		}
	}
}

// neededSubscription is the one that ?subscription= names.
func neededSubscription(query url.Values) (string, error) {
	sub := query.Get("subscription")
	if !arm.ValidGUID(sub) {
		return "", arm.NewError(arm.InvalidSubscriptionID, sub).About("subscription")
	}
	return arm.Fold(sub), nil
}

func rowOf(row *inventory.Resource) api.Resource {
	return api.Resource{
		ID: row.ID, Type: row.TypeName, Region: row.Region, Phase: row.Phase.String(), Flags: flagsOf(row),
		Created: timeOf(row.Created), Changed: timeOf(row.Changed),
	}
}
