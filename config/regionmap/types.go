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

// resourceType is a type while it is read.
type resourceType struct {
	regions.TypeDeclaration
	locations []locatedText
	skus      []skuNodes
}

func (b *mapReader) typeRows(p *provider) *setting.Setting {
	names := b.Unique("type")
	return setting.Mappings("resourceTypes",
		"The provider's types. A nested type inherits routing, regions, subservice and endpoints from its parent unless it has its own.",
		b.rowsOfType,
		func(o *setting.Object, t resourceType) {
			b.checkTemplate(o, &t.Template, p.Namespace)
			t.locations = slices.DeleteFunc(t.locations, func(l locatedText) bool { return !b.checkLocation(o, t.Routing, l) })
			t.Locations = plainTexts(t.locations)
			at := o.Valid("name")
			if at != nil && CheckTypeName(b.Report, at, t.Name) && names.Add(at, arm.Fold(t.Name), t.Name) {
				p.Types = append(p.Types, t.TypeDeclaration)
				p.types = append(p.types, typeNodes{o, t.locations, t.skus})
			}
		}).Default("none")
}

// TypeRows returns the settings of a type that the region map and certify.yaml share. regionNames
// describes the allowed locations. addLocation is called with each location.
func TypeRows(r *yamltree.Report, t *regions.TypeDeclaration, regionNames string, addLocation func(at *yamltree.Node, location string)) []*setting.Setting {
	locations := r.Unique("location")
	return []*setting.Setting{
		setting.Required("name", &t.Name, rule.TextLike(typeForm),
			"The type without its namespace. A nested type's name begins with its parent's name, which must be declared too. It should be a "+
				"lowerCamelCase plural."),
		setting.Required("kind", &t.Kind, rule.Enum(regions.Kinds()),
			"`tracked`: the index knows where instances are; they have a location and tags. `proxyOnly`: requests are forwarded, and nothing is "+
				"stored. `extension`: instances are attached to other resources."),
		setting.Value("routing", &t.Routing, rule.Enum(regions.Routings()), regions.Regional,
			"`regional`: each instance is served by its region. `global`: all instances are served by the global endpoint.").Default("the parent's, or " +
			"`regional`"),
		textList("apiVersions", rule.APIVersion(), r.Unique("api-version"), &t.APIVersions,
			"The type's api-versions, at least one.").AtLeastOne(`at least one, such as ["2024-01-01"]`),
		setting.List("locations", rule.Location(regionNames), "Regions that offer the type. Each must have an endpoint.",
			func(at *yamltree.Node, text string) {
				if locations.Add(at, text, text) {
					addLocation(at, text)
				}
			}).NonEmpty("regions, or no locations: then every region with an endpoint").Default("every region with an endpoint").
			Allowed("names of regions"),
		setting.Value("deletionPolicy", &t.DeletionPolicy, rule.Enum(regions.DeletionPolicies()), regions.DeletionPolicy(0),
			"What happens to the children of a resource that is deleted. `cascade`: they are deleted too. `refuse`: the resource cannot be "+
				"deleted while it has any."),
		setting.Mapping("capabilities", "Capabilities of the type.",
			setting.Value("move", &t.Capabilities.Move, rule.Bool(), false, "Instances can be moved to another group or subscription."),
			setting.Value("tags", &t.Capabilities.Tags, rule.Bool(), false, "Instances have tags.").Default("`true` for tracked types, else `false`"),
			setting.Value("etags", &t.Capabilities.ETags, rule.Bool(), false, "Instances have ETags."),
			setting.Value("preflight", &t.Capabilities.Preflight, rule.Bool(), false, "The provider validates planned instances."),
		).Check(func(o *setting.Object) {
			if o.Valid("tags") == nil {
				t.Capabilities.Tags = t.Kind == regions.Tracked
			}
		}),
	}
}

func (b *mapReader) rowsOfType(t *resourceType) []*setting.Setting {
	rows := TypeRows(b.Report, &t.TypeDeclaration, regionNames(b.m),
		func(at *yamltree.Node, text string) { t.locations = append(t.locations, locatedText{at, text}) })
	const behindRouting = 3
	rows = slices.Insert(rows, behindRouting, setting.Value("subservice", &t.Subservice, rule.DNSLabel(), "",
		"The value of `{subservice}` in an `endpointTemplate`.").Default("the parent's, or none"))
	return append(rows,
		setting.AddressesByRegion("endpoints", endpointsDoc+" They take precedence over the provider's.",
			func(o *setting.Object) { t.Endpoints = b.readEndpoints(o) }).Default("none"),
		setting.Value("endpointTemplate", &t.Template, rule.AddressTemplate(), "", "As the provider's `endpointTemplate`, for this type.").Allowed(templateForm),
		setting.Value("lateWriteWindow", &t.LateWriteWindow, rule.PositiveDuration(), 0,
			"Replaces `index.lateWriteWindow` for this type.").Default("`index.lateWriteWindow`"),
		setting.Value("onRegionFailure", &t.OnRegionFailure, rule.Enum(regions.RegionFailures()), regions.Inherit,
			"Replaces `lists.onRegionFailure` for this type.").Default("`lists.onRegionFailure`"),
		b.skuRows(t),
	)
}

// checkLocation reports whether a type can be offered in a location, and a fault if not.
func (b *mapReader) checkLocation(o *setting.Object, routing regions.Routing, l locatedText) bool {
	switch global := l.text == arm.GlobalLocation; {
	case routing == regions.Global && !global:
		b.Fault(l.at, fmt.Sprintf("location %s of a type with routing: global", yamltree.Quote(l.text)), "global, or no locations")
		return false
	case routing == regions.Global:
		return true
	case !global:
		return CheckRegion(b.Report, l.at, "location", l.text, b.m)
	case o.Get("routing") == nil && isNested(o):
		return true // the parent may be global, which is checked later
	}
	b.Fault(l.at, "location global of a type whose routing is regional", "routing: global, or "+regionNames(b.m))
	return false
}

func isNested(o *setting.Object) bool {
	name := o.Get("name")
	return name != nil && strings.Contains(name.Text, "/")
}
