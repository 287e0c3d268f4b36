package frontdoor

import (
	"net/http"
	"strconv"

	"portico/arm/filter"
	"portico/gateway/exchange"
	"portico/gateway/frontdoor/route"
	"portico/inventory"
	"portico/regions"
	"portico/routing"
)

// skus lists SKUs for new resources.
type skus struct{ lists route.Lists }

// Routes implements Resource. Package routing knows the types from the map.
func (g skus) Routes() []route.Route {
	ofTypes := func(q *routing.Request) bool { return len(q.SKUTypes) > 0 }
	return []route.Route{{Method: http.MethodGet, Matches: ofTypes, ActionOf: readSKUs, Partly: true, Handle: g.list}}
}

// skuBody is a SKU for new resources. Its keys appear twice: in the member sku, as the
// contract lists SKUs (addendum, Enumerating SKUs for an existing resource), and at the
// top level, where clients look for them.
type skuBody struct {
	ResourceType string          `json:"resourceType"`
	SKU          skuKeys         `json:"sku"`
	Kind         string          `json:"kind,omitempty"`
	Capacity     *skuCapacity    `json:"capacity,omitempty"`
	Locations    []string        `json:"locations"`
	LocationInfo []skuLocation   `json:"locationInfo"`
	APIVersions  []string        `json:"apiVersions"`
	Capabilities []skuCapability `json:"capabilities,omitempty"`
	Costs        []skuCost       `json:"costs,omitempty"`
	Restrictions []string        `json:"restrictions"` // always empty: restricted SKUs are not listed
	skuKeys
}

type skuKeys struct {
	Name   string `json:"name"`
	Tier   string `json:"tier,omitempty"`
	Size   string `json:"size,omitempty"`
	Family string `json:"family,omitempty"`
}

type skuCapacity struct {
	Minimum   *int64 `json:"minimum,omitempty"`
	Maximum   *int64 `json:"maximum,omitempty"`
	Default   *int64 `json:"default,omitempty"`
	ScaleType string `json:"scaleType"`
}

type skuLocation struct {
	Location string   `json:"location"`
	Zones    []string `json:"zones"`
}

type skuCapability struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type skuCost struct {
	MeterID      string `json:"meterID"`
	Quantity     int64  `json:"quantity"`
	ExtendedUnit string `json:"extendedUnit,omitempty"`
}

// offeredSKU is a SKU in the requested locations.
type offeredSKU struct {
	place     int // in the list of all SKUs
	t         *regions.ResourceType
	sku       *regions.SKU
	locations []string
}

// list lists the SKUs that the map offers for the location, the api-version, and the
// subscription's features and offer.
func (g skus) list(w http.ResponseWriter, _ *http.Request, x *exchange.Exchange, req route.Request) error {
	p, wanted, err := g.lists.ReadFiltered(x, filter.Location, filter.ResourceType, filter.Name)
	if err != nil {
		return err
	}
	all := offeredSKUs(x, req.Subscription, wanted)
	return route.ListSource[offeredSKU]{
		Read: func(after string, limit int) ([]offeredSKU, error) {
			begin := 0
			if after != "" {
				place, err := strconv.Atoi(after)
				if err != nil {
					return nil, route.InvalidSkipToken()
				}
				for begin < len(all) && all[begin].place <= place {
					begin++
				}
			}
			return all[begin:min(begin+limit, len(all))], nil
		},
		Key:  func(s offeredSKU) string { return strconv.Itoa(s.place) },
		Show: func(s offeredSKU) any { return s.body() },
	}.Answer(w, x, g.lists, p)
}

// skuItem is a SKU in one location, as filters see it.
type skuItem struct {
	t              *regions.ResourceType
	name, location string
}

// Value implements filter.Item.
func (i skuItem) Value(field filter.Field) string {
	switch field {
	case filter.Location:
		return i.location
	case filter.ResourceType:
		return i.t.FullName
	case filter.Name:
		return i.name
	}
	return ""
}

// Tags implements filter.Item.
func (skuItem) Tags() map[string]string { return nil }

func offeredSKUs(x *exchange.Exchange, s inventory.Subscription, wanted filter.Filter) (all []offeredSKU) {
	place := 0
	for _, t := range x.Request.SKUTypes {
		for i := range t.SKUs {
			sku := &t.SKUs[i]
			place++
			if !sku.OfferedIn(x.Request.Query.APIVersion, s.OfferID, s.HasFeature) {
				continue
			}
			found := offeredSKU{place: place, t: t, sku: sku}
			for _, l := range sku.Locations {
				if (x.Request.Location == "" || l == x.Request.Location) && wanted.Match(skuItem{t, sku.Name, l}) {
					found.locations = append(found.locations, l)
				}
			}
			if len(found.locations) > 0 {
				all = append(all, found)
			}
		}
	}
	return all
}

func (s offeredSKU) body() skuBody {
	keys := skuKeys{Name: s.sku.Name, Tier: s.sku.Tier, Size: s.sku.Size, Family: s.sku.Family}
	b := skuBody{
		ResourceType: s.t.FullName, SKU: keys, skuKeys: keys, Kind: s.sku.Kind, Locations: s.locations, LocationInfo: []skuLocation{},
		APIVersions: s.sku.APIVersions, Restrictions: []string{},
	}
	for _, l := range s.locations {
		zones := s.sku.Zones[l]
		if zones == nil {
			zones = []string{}
		}
		b.LocationInfo = append(b.LocationInfo, skuLocation{l, zones})
	}
	if c := s.sku.Capacity; c != nil {
		b.Capacity = &skuCapacity{ScaleType: c.ScaleType.String()}
		if c.ScaleType != regions.ScaleNone {
			b.Capacity.Minimum, b.Capacity.Maximum, b.Capacity.Default = &c.Minimum, &c.Maximum, &c.Default
		}
	}
	for _, c := range s.sku.Capabilities {
		b.Capabilities = append(b.Capabilities, skuCapability(c))
	}
	for _, c := range s.sku.Costs {
		b.Costs = append(b.Costs, skuCost(c))
	}
	return b
}

// readSKUs returns the action of listing a provider's SKUs.
func readSKUs(q *routing.Request) string { return q.Provider.Namespace + "/skus/read" }
