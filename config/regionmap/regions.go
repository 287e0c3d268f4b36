package regionmap

import (
	"fmt"

	"portico/arm"
	"portico/config/rule"
	"portico/config/setting"
	"portico/config/yamltree"
	"portico/regions"
)

func (b *mapReader) regionRows() *setting.Setting {
	seen := b.Unique("region")
	return setting.Mappings("regions", "The regions.",
		func(r *regions.Region) []*setting.Setting {
			return []*setting.Setting{
				setting.Required("name", &r.Name, rule.RegionName(),
					"The region's name, as in the location of resources. Case and spaces do not matter.").
					Identity(func(at *yamltree.Node) bool { return seen.Add(at, r.Name, r.Name) }),
				setting.Value("displayName", &r.DisplayName, rule.Text(), "",
					"The display name. It should be the region's name except for case and spaces, because clients may send it as a location.").Default("the name"),
				setting.Value("pairedRegion", &r.PairedRegion, rule.RegionName(), "", "Another region, shown to clients. It is never used for "+
					"failover."),
				setting.Value("geography", &r.Geography, rule.Text(), "", "Shown to clients."),
				setting.Value("geographyGroup", &r.GeographyGroup, rule.Text(), "", "Shown to clients."),
				setting.Value("physicalLocation", &r.PhysicalLocation, rule.Text(), "", "Shown to clients."),
				setting.Value("latitude", &r.Latitude, rule.Degrees(90), "", "Shown to clients, exactly as written."),
				setting.Value("longitude", &r.Longitude, rule.Degrees(180), "", "Shown to clients, exactly as written."),
			}
		},
		func(o *setting.Object, r regions.Region) {
			if r.DisplayName == "" {
				r.DisplayName = r.Name
			}
			b.declaration.Regions = append(b.declaration.Regions, r)
			b.regions = append(b.regions, o)
		}).AtLeastOne("at least one region, such as {name: westus, displayName: West US}")
}

// checkRegions checks references from one region to another.
func (b *mapReader) checkRegions() {
	for i, o := range b.regions {
		region := b.declaration.Regions[i]
		if region.PairedRegion == region.Name {
			b.Fault(o.At("pairedRegion"), fmt.Sprintf("region %s is paired with itself", region.Name), "another region, or none")
		} else if region.PairedRegion != "" {
			CheckRegion(b.Report, o.At("pairedRegion"), "pairedRegion", region.PairedRegion, b.m)
		}
		b.checkDisplayName(o, region)
	}
}

// checkDisplayName checks that the display name, which clients may send as a location, leads to the
// region.
func (b *mapReader) checkDisplayName(o *setting.Object, region regions.Region) {
	const allowed = "a display name that is the region's name but for case and spaces"
	understood := arm.Location(region.DisplayName)
	if understood == region.Name {
		return
	}
	if _, exists := b.m.Region(understood); exists {
		b.Fault(o.At("displayName"), fmt.Sprintf("displayName %s of region %s names region %s",
			yamltree.Quote(region.DisplayName), region.Name, understood), allowed)
		return
	}
	b.Warn(o.At("displayName"), fmt.Sprintf("displayName %s is not understood as location %s",
		yamltree.Quote(region.DisplayName), region.Name), allowed)
}

// CheckRegion reports a name that is not a region of the map.
func CheckRegion(r *yamltree.Report, at *yamltree.Node, path, name string, m *regions.Map) bool {
	if _, ok := m.Region(name); ok {
		return true
	}
	r.Fault(at, fmt.Sprintf("%s %s is not a region of this configuration", path, yamltree.Quote(name)), regionNames(m))
	return false
}

func regionNames(m *regions.Map) string {
	var names []string
	for _, region := range m.Regions() {
		names = append(names, region.Name)
	}
	if len(names) == 0 {
		return "a name from regions, which is empty"
	}
	return yamltree.Choice(names)
}
