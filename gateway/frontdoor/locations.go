package frontdoor

import (
	"net/http"

	"portico/gateway/exchange"
	"portico/gateway/frontdoor/route"
	"portico/regions"
)

// locations lists the regions of the map.
type locations struct{ regions *regions.Map }

// Routes implements Resource.
func (g locations) Routes() []route.Route {
	return []route.Route{{
		Method: http.MethodGet, Path: "/subscriptions/{s}/locations",
		Action: "Microsoft.Resources/subscriptions/locations/read", Partly: true, Handle: g.list,
	}}
}

type locationBody struct {
	ID                  string           `json:"id"`
	Name                string           `json:"name"`
	Type                string           `json:"type"`
	DisplayName         string           `json:"displayName"`
	RegionalDisplayName string           `json:"regionalDisplayName"`
	Metadata            locationMetadata `json:"metadata"`
}

type locationMetadata struct {
	RegionType       string         `json:"regionType"`
	RegionCategory   string         `json:"regionCategory"`
	Geography        string         `json:"geography,omitempty"`
	GeographyGroup   string         `json:"geographyGroup,omitempty"`
	Latitude         string         `json:"latitude,omitempty"`
	Longitude        string         `json:"longitude,omitempty"`
	PhysicalLocation string         `json:"physicalLocation,omitempty"`
	PairedRegion     []pairedRegion `json:"pairedRegion"`
}

type pairedRegion struct {
	Name string `json:"name"`
	ID   string `json:"id"`
}

func (g locations) list(w http.ResponseWriter, _ *http.Request, x *exchange.Exchange, req route.Request) error {
	return x.Answer(w, http.StatusOK, exchange.ListOf(g.regions.Regions(), func(region regions.Region) locationBody {
		return locationOf(req.Subscription.ID, region)
	}))
}

func locationOf(subscription string, region regions.Region) locationBody {
	prefix := "/subscriptions/" + subscription + "/locations/"
	body := locationBody{
		ID: prefix + region.Name, Name: region.Name, Type: "Region", DisplayName: region.DisplayName, RegionalDisplayName: region.DisplayName,
		Metadata: locationMetadata{
			RegionType: "Physical", RegionCategory: "Recommended",
			Geography: region.Geography, GeographyGroup: region.GeographyGroup, PhysicalLocation: region.PhysicalLocation,
			Latitude: region.Latitude, Longitude: region.Longitude, PairedRegion: []pairedRegion{},
		},
	}
	if region.GeographyGroup != "" {
		body.RegionalDisplayName = "(" + region.GeographyGroup + ") " + region.DisplayName
	}
	if region.PairedRegion != "" {
		body.Metadata.PairedRegion = append(body.Metadata.PairedRegion, pairedRegion{region.PairedRegion, prefix + region.PairedRegion})
	}
	return body
}
