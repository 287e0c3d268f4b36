package locate

import (
	"encoding/json"
	"net/http"
	"time"

	"portico/arm"
	"portico/inventory"
	"portico/regions"
	"portico/routing"
)

// NewDiscovery is what a GET shows of a tracked resource that the index does not
// have: q names the resource by its path, region is the one whose endpoint answered
// 200 with body, version the api-version, and since is when the resource was listed
// or asked for, by the store's time. Casing, location and creator are the provider's.
func NewDiscovery(m *regions.Map, q *routing.Request, region, version string, body []byte, since time.Time) inventory.Sighting {
	var shown struct {
		ID         string `json:"id"`
		Location   string `json:"location"`
		SystemData struct {
			CreatedBy     string `json:"createdBy"`
			CreatedByType string `json:"createdByType"`
			CreatedAt     string `json:"createdAt"`
		} `json:"systemData"`
	}
	// What cannot be read stays empty: the resource exists all the same.
	_ = json.Unmarshal(body, &shown)
	created, _ := time.Parse(time.RFC3339, shown.SystemData.CreatedAt)
	// The provider's spelling, as long as it names the same resource.
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
	if row.ProvisioningState = state; details != nil {
		row.Details = *details
	}
	return inventory.Sighting{Resource: row, ListedSince: since}
}
