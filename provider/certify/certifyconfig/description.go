package certifyconfig

import (
	"fmt"
	"slices"
	"strings"

	"portico/arm"
	"portico/config/regionmap"
	"portico/config/rule"
	"portico/config/setting"
	"portico/config/yamltree"
	"portico/provider/certify/contract"
	"portico/regions"
)

// provider is a provider as the file declares it.
type provider struct {
	regions.ProviderDeclaration
	at        *setting.Object
	checkName []string
	types     []*described
}

// described is a type as the file declares it, with the content of its member contract.
type described struct {
	regions.TypeDeclaration
	namespace string
	at        *setting.Object
	exercise  contract.Exercise
}

func (d *described) full() string { return d.namespace + "/" + d.Name }

// providerRows returns a region map's rows that describe providers and types,
// with the suite's own rows.
func (r *reader) providerRows() *setting.Setting {
	namespaces := r.Unique("namespace")
	return setting.Mappings("providers", "The provider's namespaces with their types, in the form of a region map.", r.rowsOfProvider,
		func(o *setting.Object, p provider) {
			at := o.Valid("namespace")
			if regionmap.CheckNamespace(&r.Report, at, p.Namespace) && namespaces.Add(at, arm.Fold(p.Namespace), p.Namespace) {
				p.at = o
				r.providers = append(r.providers, p)
			}
		}).AtLeastOne("a list as in a region map: {namespace: …, resourceTypes: […]}")
}

func (r *reader) rowsOfProvider(p *provider) []*setting.Setting {
	names := r.Unique("type")
	return append(regionmap.ProviderRows(&p.ProviderDeclaration),
		setting.List("checkNameAvailability", rule.OneOf("subscription", "location"), "The scopes at which the provider answers `checkNameAvailability`.",
			func(_ *yamltree.Node, scope string) { p.checkName = append(p.checkName, scope) }).Noun("scope").Default("none"),
		setting.Mappings("resourceTypes", "The types. A nested type inherits absent settings from its parent.", r.rowsOfType,
			func(o *setting.Object, t described) {
				at := o.Valid("name")
				if at != nil && regionmap.CheckTypeName(&r.Report, at, t.Name) && names.Add(at, arm.Fold(t.Name), t.Name) {
					t.namespace, t.at = p.Namespace, o
					p.types = append(p.types, &t)
				}
			}).AtLeastOne("at least one, such as {name: widgets, kind: tracked, apiVersions: [2024-01-01]}"))
}

func (r *reader) rowsOfType(t *described) []*setting.Setting {
	return append(regionmap.TypeRows(&r.Report, &t.TypeDeclaration, "names of regions",
		func(_ *yamltree.Node, name string) { t.Locations = append(t.Locations, name) }),
		setting.Mapping("contract", "What the cases may do with instances of the type; see [The types](#the-types).", exerciseRows(&t.exercise)...))
}

// describe builds the description of the provider from the file.
func (r *reader) describe(root *setting.Object) {
	var all []*described
	for _, p := range r.providers {
		for _, d := range p.types {
			r.judgeType(d, p.types)
		}
		all = append(all, p.types...)
	}
	r.addSamples(root, all)
	r.addSpecified(all)
	r.requireBodies(all)
	for _, t := range all {
		r.c.Types = append(r.c.Types, t.full())
	}
	if r.Err() != nil {
		return
	}
	for _, p := range r.providers {
		r.description.Providers = append(r.description.Providers, p.describe())
	}
	if err := r.description.Complete(); err != nil {
		r.Fault(root.At("providers"), err.Error(), "")
	}
	r.c.Description = &r.description
}

// describe converts the provider to the suite's form.
func (p provider) describe() *contract.Provider {
	all := &contract.Provider{Namespace: p.Namespace, CheckName: p.checkName}
	if p.at.Valid("registration") != nil {
		all.Registration = p.Registration.String()
	}
	for _, d := range p.types {
		t := &contract.Type{
			Name: d.Name, Kind: d.Kind.String(), Routing: d.Routing.String(), APIVersions: d.APIVersions, Locations: d.Locations, Contract: d.exercise,
		}
		can, is := &t.Capabilities, d.Capabilities
		can.Move, can.Tags, can.ETags, can.Preflight = is.Move, is.Tags, is.ETags, is.Preflight
		if d.at.Valid("deletionPolicy") != nil { // if it is not given, the suite finds out
			t.DeletionPolicy = d.DeletionPolicy.String()
		}
		all.ResourceTypes = append(all.ResourceTypes, t)
	}
	return all
}

// judgeType checks a type's parent, among the types of its provider, and its endpoint.
func (r *reader) judgeType(d *described, all []*described) {
	if i := strings.LastIndexByte(d.Name, '/'); i >= 0 {
		parent := d.Name[:i]
		at := slices.IndexFunc(all, func(other *described) bool { return arm.EqualFold(other.Name, parent) })
		if at < 0 {
			r.Fault(d.at.At("name"), fmt.Sprintf("nested type %s has no parent type %s", d.full(), parent), "declare "+parent+" in the same provider")
		} else if d.at.Get("routing") == nil {
			d.Routing = all[at].Routing
		}
	}
	if d.Routing == regions.Global && d.at.Valid("routing") != nil && len(r.c.Endpoints) > 0 && r.c.Endpoints[contract.Global] == "" {
		r.Fault(d.at.At("routing"), fmt.Sprintf("type %s has routing: global, but endpoints has no global", yamltree.Quote(d.Name)),
			"add global: https://host to endpoints, or leave routing out")
	}
}

// addSamples sets the types' bodies from the file's samples.
func (r *reader) addSamples(root *setting.Object, all []*described) {
	n := mappingAt(root, "samples", "keys with values, such as {a: b}")
	if n == nil {
		return
	}
	names := make([]string, len(all))
	for i, d := range all {
		names[i] = d.full()
	}
	for _, e := range n.Entries {
		var create, update contract.Object
		o := setting.ReadAt(&r.Report, e.Value, "samples."+e.Key.Text, []*setting.Setting{object("create", &create, ""), object("update", &update, "")})
		i := slices.IndexFunc(names, func(name string) bool { return arm.EqualFold(name, e.Key.Text) })
		if i < 0 {
			r.Fault(e.Key, "samples has "+yamltree.Quote(e.Key.Text)+", which no provider declares", yamltree.Choice(names))
			continue
		}
		r.refuseEnvelope(e)
		switch {
		case o.Broken:
		case create == nil:
			r.Fault(e.Key, o.Path+" has no create", "create: {properties: {…}}, the body of a PUT")
		case !all[i].bodies(create, update):
			r.Fault(e.Key, "type "+all[i].full()+" has a sample and a contract.body", "one of them")
		}
	}
}

// refuseEnvelope reports members of a sample that the suite itself adds to
// bodies, and properties that are not a mapping.
func (r *reader) refuseEnvelope(sample yamltree.Entry) {
	for _, body := range sample.Value.Entries {
		for _, member := range body.Value.Entries {
			if slices.Contains([]string{"location", "tags", "id", "name", "type"}, member.Key.Text) {
				r.Fault(member.Key, fmt.Sprintf("samples.%s.%s has %s", sample.Key.Text, body.Key.Text, member.Key.Text),
					"properties, sku, kind and the like: the suite adds location and tags, and the URL names the resource")
			}
			if member.Key.Text == "properties" && member.Value.Kind != yamltree.Mapping {
				r.Fault(member.Value, fmt.Sprintf("samples.%s.%s.properties is %s, not a mapping", sample.Key.Text, body.Key.Text, member.Value.Kind),
					"members with values, such as {size: small}")
			}
		}
	}
}

// bodies sets the type's bodies from a sample; it returns false if the type
// already has a body.
func (d *described) bodies(create, update contract.Object) bool {
	e := &d.exercise
	if e.Body != nil {
		return false
	}
	e.Body = create
	if len(update) > 0 && e.Other == nil {
		e.Other = contract.Patched(create, update)
	}
	if properties, ok := update["properties"].(contract.Object); ok && e.Change == nil {
		e.Change = properties
	}
	return true
}

func (d *described) lacksBody() bool { return d.exercise.Body == nil && !d.exercise.ReadOnly }

// requireBodies reports the types without a body for their creation.
func (r *reader) requireBodies(all []*described) {
	for _, d := range all {
		if d.lacksBody() {
			r.Fault(d.at.At("name"), "type "+d.full()+" has no sample",
				fmt.Sprintf("samples: {%s: {create: {properties: {…}}, update: {properties: {…}}}}, a specification, or contract: {readOnly: true}",
					d.full()))
		}
	}
}
