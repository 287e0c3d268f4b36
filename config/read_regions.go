package config

import (
	"fmt"

	"portico/arm"
	"portico/regions"
)

func (b *mapReader) readRegions(root object) {
	root.need("regions", "at least one region, such as {name: westus, displayName: West US}")
	root.filled("regions", "at least one region, such as {name: westus, displayName: West US}")
	twice := b.r.distinct("region")
	for _, o := range root.children("regions", regionKeys()...) {
		var region regions.Region
		name := must(o, "name", &region.Name, location())
		if name == nil || !twice.add(name, region.Name, region.Name) {
			continue
		}
		region.DisplayName = region.Name
		set(o, "displayName", &region.DisplayName, plainText())
		set(o, "pairedRegion", &region.PairedRegion, location())
		set(o, "geography", &region.Geography, plainText())
		set(o, "geographyGroup", &region.GeographyGroup, plainText())
		set(o, "physicalLocation", &region.PhysicalLocation, plainText())
		set(o, "latitude", &region.Latitude, degrees(90))
		set(o, "longitude", &region.Longitude, degrees(180))
		b.d.Regions = append(b.d.Regions, region)
		b.regions = append(b.regions, o)
	}
}

func regionKeys() []string {
	return []string{
		"name", "displayName", "pairedRegion", "geography", "geographyGroup", "physicalLocation", "latitude", "longitude",
	}
}

// checkRegions looks at what one region says of another.
func (b *mapReader) checkRegions() {
	for i, o := range b.regions {
		region := b.d.Regions[i]
		if region.PairedRegion == region.Name {
			b.r.fault(o.at("pairedRegion"), fmt.Sprintf("region %s is paired with itself", region.Name), "another region, or none")
		} else if region.PairedRegion != "" {
			checkRegion(b.r, o.at("pairedRegion"), "pairedRegion", region.PairedRegion, b.m)
		}
		b.checkDisplayName(o, region)
	}
}

// checkDisplayName makes sure that the display name, which clients send as a
// location, leads to the region.
func (b *mapReader) checkDisplayName(o object, region regions.Region) {
	const allowed = "a display name that is the region's name but for case and spaces"
	understood := arm.Location(region.DisplayName)
	if understood == region.Name {
		return
	}
	if _, exists := b.m.Region(understood); exists {
		b.r.fault(o.at("displayName"), fmt.Sprintf("displayName %s of region %s names region %s",
			quote(region.DisplayName), region.Name, understood), allowed)
		return
	}
	b.r.warn(o.at("displayName"), fmt.Sprintf("displayName %s is not understood as location %s",
		quote(region.DisplayName), region.Name), allowed)
}
