package regionmap

import (
	"fmt"
	"slices"
	"strings"

	"portico/arm"
	"portico/config/rule"
	"portico/config/setting"
	"portico/config/yamltree"
	"portico/regions"
)

// sku is a SKU while it is read.
type sku struct {
	regions.SKU
	skuNodes
}

func (b *mapReader) skuRows(t *resourceType) *setting.Setting {
	names := b.Unique("SKU")
	return setting.Mappings("skus", "SKUs of new resources. The provider itself lists the SKUs to which an existing resource can change.",
		b.rowsOfSKU,
		func(o *setting.Object, s sku) {
			s.APIVersions, s.RequiredFeatures = plainTexts(s.versions), plainTexts(s.features)
			// Disks, for example, have several of the same name and tier, with different sizes.
			if at := o.Valid("name"); at != nil && names.Add(at, arm.Fold(strings.Join([]string{s.Name, s.Tier, s.Size}, "\x00")), s.Name) {
				t.SKUs, t.skus = append(t.SKUs, s.SKU), append(t.skus, s.skuNodes)
			}
		}).Default("none")
}

func (b *mapReader) rowsOfSKU(s *sku) []*setting.Setting {
	version := rule.APIVersion()
	version.Allowed = "api-versions of the type"
	return []*setting.Setting{
		setting.Required("name", &s.Name, rule.Text(), "The SKU's name."),
		setting.Value("tier", &s.Tier, rule.Text(), "", "Shown to clients."),
		setting.Value("size", &s.Size, rule.Text(), "", "Shown to clients."),
		setting.Value("family", &s.Family, rule.Text(), "", "Shown to clients."),
		setting.Value("kind", &s.Kind, rule.Text(), "", "Shown to clients."),
		locatedTextList("locations", rule.Location("locations of the type"), b.Unique("location"), &s.locations, "Locations that offer the SKU.").
			NonEmpty("locations of the type, or no locations: then all of them").Default("all locations of the type").
			Then(func() { s.Locations = plainTexts(s.locations) }),
		b.zoneRows(s),
		locatedTextList("apiVersions", version, b.Unique("api-version"), &s.versions, "Api-versions that support the SKU.").
			NonEmpty("api-versions of the type, or no apiVersions: then all of them").Default("all of the type"),
		locatedTextList("requiredFeatures", rule.FullFeatureName(), b.Unique("feature"), &s.features,
			"Features, `Namespace/name`. A subscription needs all of them to see the SKU.").Default("none"),
		textList("requiredQuotaIds", rule.Text(), b.Unique("offer"), &s.RequiredQuotaIDs,
			"Offers. A subscription must have one of them to see the SKU.").Default("any"),
		capacityRows(&s.Capacity),
		setting.Mappings("capabilities", "Capabilities of the SKU, as pairs of name and value.",
			func(c *regions.SKUCapability) []*setting.Setting {
				return []*setting.Setting{
					setting.Required("name", &c.Name, rule.Text(), "The capability."),
					setting.Required("value", &c.Value, rule.Text(), "Its value, a string."),
				}
			},
			func(_ *setting.Object, c regions.SKUCapability) { s.Capabilities = append(s.Capabilities, c) }).Default("none"),
		setting.Mappings("costs", "Meters of the SKU's costs.",
			func(c *regions.SKUCost) []*setting.Setting {
				return []*setting.Setting{
					setting.Required("meterId", &c.MeterID, rule.Text(), "The meter."),
					setting.Value("quantity", &c.Quantity, rule.Amount(), 1, "The quantity that the SKU uses."),
					setting.Value("extendedUnit", &c.ExtendedUnit, rule.Text(), "", "The unit of `quantity`."),
				}
			},
			func(_ *setting.Object, c regions.SKUCost) { s.Costs = append(s.Costs, c) }).Default("none"),
	}
}

type locationInfo struct {
	location string
	zones    []string
}

// zoneRows returns the setting of the zones in a SKU's locations.
func (b *mapReader) zoneRows(s *sku) *setting.Setting {
	seen := b.Unique("locationInfo of")
	return setting.Mappings("locationInfo", "The zones in each location.",
		func(i *locationInfo) []*setting.Setting {
			return []*setting.Setting{
				setting.Required("location", &i.location, rule.Location("locations of the type"), "One of the SKU's locations."),
				textList("zones", rule.Identifier(), b.Unique("zone"), &i.zones, "Names of the location's zones.").Default("none"),
			}
		},
		func(o *setting.Object, i locationInfo) {
			at := o.Valid("location")
			if at == nil || !seen.Add(at, i.location, i.location) {
				return
			}
			if len(s.Locations) > 0 && !slices.Contains(s.Locations, i.location) {
				b.Fault(at, fmt.Sprintf("locationInfo of %s, which is not among the locations of the SKU", i.location), yamltree.Choice(s.Locations))
				return
			}
			s.locations = append(s.locations, locatedText{at, i.location})
			if s.Zones == nil {
				s.Zones = make(map[string][]string)
			}
			s.Zones[i.location] = i.zones
		}).Default("none")
}

// capacityRows returns the setting of a SKU's capacity. According to the contract, a scalable SKU
// has limits, and a default between them (addendum, Enumerating SKUs for an existing resource).
func capacityRows(into **regions.SKUCapacity) *setting.Setting {
	c := &regions.SKUCapacity{}
	return setting.Mapping("capacity", "How the SKU scales.",
		setting.Required("minimum", &c.Minimum, rule.Amount(), "The smallest capacity.").Conditional(),
		setting.Required("maximum", &c.Maximum, rule.Amount(), "The largest capacity.").Conditional(),
		setting.Required("default", &c.Default, rule.Amount(), "The capacity if the client does not choose one.").Conditional(),
		setting.Required("scaleType", &c.ScaleType, rule.Enum(regions.ScaleTypes()),
			"`Automatic`: the resource scales by itself. `Manual`: the client chooses the capacity. `None`: the resource does not scale."),
	).Check(func(o *setting.Object) {
		*into = c
		if o.Valid("scaleType") == nil || c.ScaleType != regions.ScaleNone {
			for _, key := range []string{"minimum", "maximum", "default"} {
				o.Require(key, rule.Amount().Allowed)
			}
		}
		least, most, usual := o.Valid("minimum"), o.Valid("maximum"), o.Valid("default")
		switch {
		case least == nil || most == nil:
		case c.Minimum > c.Maximum:
			o.Fault(most, fmt.Sprintf("%s.maximum %d is less than the minimum %d", o.Path, c.Maximum, c.Minimum), "at least the minimum")
		case usual != nil && (c.Default < c.Minimum || c.Default > c.Maximum):
			o.Fault(usual, fmt.Sprintf("%s.default %d is not between minimum and maximum", o.Path, c.Default),
				fmt.Sprintf("%d to %d", c.Minimum, c.Maximum))
		}
	}).IfGiven().Default("none")
}

// checkSKUs checks the SKUs' references to locations, api-versions and features.
func (b *mapReader) checkSKUs(n typeNodes, t *regions.ResourceType) {
	for _, s := range n.skus {
		for _, l := range s.locations {
			if !t.OffersLocation(l.text) {
				b.Fault(l.at, fmt.Sprintf("a SKU of type %s has location %s, which the type does not have", t.FullName, l.text), yamltree.Choice(t.Locations))
			}
		}
		for _, v := range s.versions {
			if !t.Supports(v.text) {
				b.Fault(v.at, fmt.Sprintf("a SKU of type %s has api-version %s, which the type does not have", t.FullName, v.text), yamltree.Choice(t.APIVersions))
			}
		}
		for _, f := range s.features {
			namespace, name, _ := arm.CutFeature(f.text)
			if p := b.m.Provider(namespace); p != nil {
				if _, declared := p.Feature(name); !declared {
					b.Warn(f.at, fmt.Sprintf("a SKU of type %s requires feature %s, which its provider does not declare", t.FullName, f.text),
						"the features of provider "+p.Namespace)
				}
			}
		}
	}
	if t.Key == t.Provider.Key+"/skus" && len(t.Provider.SKUTypes()) > 0 {
		b.Fault(n.At("name"), fmt.Sprintf("type %s conflicts with the skus of another type: both would be listed under that name", t.FullName),
			"another name, or no skus in the provider's types")
	}
}
