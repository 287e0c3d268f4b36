package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"portico/arm"
	"portico/certify/contract"
	"portico/config/rule"
	"portico/config/setting"
	"portico/config/yamltree"
)

// sampleSet are the bodies of a type as a file gives them.
type sampleSet struct {
	Create contract.Object `yaml:"create"`
	Update contract.Object `yaml:"update"`
}

// described is a type of the file, its JSON and where it stands.
type described struct {
	namespace, name string
	at              *yamltree.Node
	node            *yamltree.Node // its mapping
	json            map[string]any
}

func (d described) full() string { return d.namespace + "/" + d.name }

// contract is the type's member of that name, made where there is none.
func (d described) contract() map[string]any {
	c, _ := d.json["contract"].(map[string]any)
	if c == nil {
		c = map[string]any{}
		d.json["contract"] = c
	}
	return c
}

// describe makes the description of what the file says of the provider.
func (r *reader) describe(root *setting.Object) {
	providers := root.Get("providers")
	if providers == nil {
		root.Require("providers", "a part of a region map: a list of {namespace: …, resourceTypes: […]}")
		return
	}
	whole := map[string]any{"providers": r.shaped(providers, reflect.TypeFor[[]contract.Provider](), "providers")}
	if n := root.Get("asynchrony"); n != nil {
		whole["asynchrony"] = r.shaped(n, reflect.TypeFor[contract.Asynchrony](), "asynchrony")
		r.checkAsynchrony(n)
	}
	if n := root.Right("pageSize"); n != nil {
		whole["pageSize"] = n.Text
	}
	all := r.types(providers, whole["providers"])
	r.addSamples(root, all)
	r.addSpecified(all)
	if len(all) > 0 {
		r.requireBodies(all)
	}
	for _, t := range all {
		r.c.Types = append(r.c.Types, t.full())
	}
	if r.Err() != nil {
		return
	}
	text, err := json.Marshal(whole)
	if err == nil {
		r.c.Description, err = contract.Load(text)
	}
	if err != nil {
		r.Fault(providers, err.Error(), "")
	}
}

// types judges the namespaces and types, and returns the types that are right.
func (r *reader) types(providers *yamltree.Node, shaped any) []described {
	list, _ := shaped.([]any)
	if len(list) == 0 && providers.Kind == yamltree.List {
		r.Fault(providers, "providers is empty", "at least one, such as {namespace: Acme.Stuff, resourceTypes: […]}")
	}
	var all []described
	namespaces := r.Unique("namespace")
	for i, item := range list {
		p, _ := item.(map[string]any)
		n := providers.Items[i]
		if p == nil {
			continue
		}
		namespace := r.word(n, "namespace", "providers[]", rule.Rule[string]{
			Parse: func(text string) (string, bool) { return text, arm.ValidNamespace(text) },
			Noun:  "provider namespace", Allowed: "ASCII letters, digits and single full stops between them, such as Acme.Stuff",
		}, true)
		if namespace == "" || !namespaces.Add(value(n, "namespace"), arm.Fold(namespace), namespace) {
			continue
		}
		r.word(n, "registration", "providers[]", rule.OneOf("automatic", "required"), false)
		r.words(n, "checkNameAvailability", "providers[]", rule.OneOf("subscription", "location"))
		all = append(all, r.typesOf(n, namespace, p)...)
	}
	return all
}

func (r *reader) typesOf(n *yamltree.Node, namespace string, p map[string]any) []described {
	list, _ := p["resourceTypes"].([]any)
	at := value(n, "resourceTypes")
	if len(list) == 0 {
		r.Fault(n, "provider "+namespace+" has no resourceTypes", "at least one, such as {name: widgets, kind: tracked, apiVersions: [2024-01-01]}")
		return nil
	}
	var all []described
	names := r.Unique("type")
	for i, item := range list {
		t, _ := item.(map[string]any)
		if t == nil {
			continue
		}
		d := described{namespace: namespace, node: at.Items[i], json: t}
		if d.name = r.judgeType(d); d.name == "" {
			continue
		}
		d.at = value(d.node, "name")
		if names.Add(d.at, arm.Fold(d.name), d.name) {
			all = append(all, d)
		}
	}
	for _, d := range all {
		r.judgeParent(d, all)
	}
	return all
}

// judgeType judges the members of a type, and returns its name; "" if that is wrong.
func (r *reader) judgeType(d described) string {
	const path = "resourceTypes[]"
	name := r.word(d.node, "name", path, rule.Rule[string]{
		Parse: func(text string) (string, bool) {
			for s := range strings.SplitSeq(text, "/") {
				if !arm.ValidTypeName(s) {
					return "", false
				}
			}
			return text, true
		},
		Noun: "type name", Allowed: "segments of ASCII letters and digits, such as widgets or widgets/parts, without the namespace",
	}, true)
	kind := r.word(d.node, "kind", path, rule.OneOf(contract.Tracked, contract.ProxyOnly, contract.Extension), true)
	routing := r.word(d.node, "routing", path, rule.OneOf("regional", contract.Global), false)
	r.word(d.node, "deletionPolicy", path, rule.OneOf("cascade", "refuse"), false)
	r.words(d.node, "apiVersions", path, rule.APIVersion())
	if n := value(d.node, "apiVersions"); n == nil || len(n.Items) == 0 {
		r.Fault(d.node, path+".apiVersions is missing", "at least one, such as [2024-01-01]")
	}
	r.words(d.node, "locations", path, rule.Location("names of regions"))
	if kind == contract.Tracked {
		r.defaultTags(d)
	}
	if routing == contract.Global && len(r.c.Endpoints) > 0 && r.c.Endpoints[contract.Global] == "" {
		r.Fault(value(d.node, "routing"), fmt.Sprintf("type %s has routing: global, but endpoints has no global", yamltree.Quote(name)), "add global: https://host to endpoints, or leave routing out")
	}
	return name
}

// defaultTags: tracked types have tags unless the file denies it, as in a region map.
func (r *reader) defaultTags(d described) {
	can, _ := d.json["capabilities"].(map[string]any)
	if can == nil {
		can = map[string]any{}
		d.json["capabilities"] = can
	}
	if can["tags"] == nil {
		can["tags"] = true
	}
}

func (r *reader) judgeParent(d described, all []described) {
	i := strings.LastIndexByte(d.name, '/')
	if i < 0 {
		return
	}
	parent := d.name[:i]
	at := slices.IndexFunc(all, func(other described) bool { return arm.EqualFold(other.name, parent) })
	if at < 0 {
		r.Fault(d.at, fmt.Sprintf("nested type %s without its parent %s", d.full(), parent), "declare "+parent+" in the same provider")
		return
	}
	if routing := all[at].json["routing"]; d.json["routing"] == nil && routing != nil {
		d.json["routing"] = routing // as in a region map
	}
}

// addSamples gives the types their bodies.
func (r *reader) addSamples(root *setting.Object, all []described) {
	n := root.Get("samples")
	if n == nil {
		return
	}
	names := make([]string, len(all))
	for i, d := range all {
		names[i] = d.full()
	}
	samples, _ := r.shaped(n, reflect.TypeFor[map[string]sampleSet](), "samples").(map[string]any)
	for _, e := range n.Entries {
		i := slices.IndexFunc(names, func(name string) bool { return arm.EqualFold(name, e.Key.Text) })
		if i < 0 {
			r.Fault(e.Key, "samples has "+yamltree.Quote(e.Key.Text)+", which no provider declares", yamltree.Choice(names))
			continue
		}
		r.refuseEnvelope(e)
		given, _ := samples[e.Key.Text].(map[string]any)
		create, _ := given["create"].(map[string]any)
		update, _ := given["update"].(map[string]any)
		if given != nil && create == nil {
			r.Fault(e.Key, "samples."+e.Key.Text+" has no create", "create: {properties: {…}}, the body of a PUT")
			continue
		}
		if !all[i].bodies(create, update) {
			r.Fault(e.Key, "type "+all[i].full()+" has a sample and a contract.body", "one of them")
		}
	}
}

// refuseEnvelope reports what the suite itself adds to bodies.
func (r *reader) refuseEnvelope(sample yamltree.Entry) {
	for _, body := range sample.Value.Entries {
		for _, member := range body.Value.Entries {
			if slices.Contains([]string{"location", "tags", "id", "name", "type"}, member.Key.Text) {
				r.Fault(member.Key, fmt.Sprintf("samples.%s.%s has %s", sample.Key.Text, body.Key.Text, member.Key.Text), "properties, sku, kind and the like: the suite adds location and tags, and the URL names the resource")
			}
		}
	}
}

// bodies sets the bodies that are made of a sample; false if there are others.
func (d described) bodies(create, update map[string]any) bool {
	c := d.contract()
	if c["body"] != nil {
		return false
	}
	c["body"] = create
	if len(update) == 0 {
		return true
	}
	if c["other"] == nil {
		c["other"] = contract.Patched(create, update)
	}
	if c["change"] == nil && update["properties"] != nil {
		c["change"] = update["properties"]
	}
	return true
}

func (d described) lacksBody() bool {
	c, _ := d.json["contract"].(map[string]any)
	readOnly, _ := c["readOnly"].(bool)
	return c["body"] == nil && !readOnly
}

// requireBodies reports the types that nothing says how to make.
func (r *reader) requireBodies(all []described) {
	for _, d := range all {
		if d.lacksBody() {
			r.Fault(d.at, "type "+d.full()+" has no sample", fmt.Sprintf("samples: {%s: {create: {properties: {…}}, update: {properties: {…}}}}, a specification, or contract: {readOnly: true}", d.full()))
		}
	}
}

// checkAsynchrony judges the patterns' methods.
func (r *reader) checkAsynchrony(n *yamltree.Node) {
	patterns := value(n, "patterns")
	if patterns == nil {
		return
	}
	for _, p := range patterns.Items {
		if p.Kind == yamltree.Mapping {
			r.word(p, "method", "asynchrony.patterns[]", rule.OneOf("PUT", "PATCH", "DELETE", "POST"), true)
		}
	}
}

// value is what stands under a key of a mapping; nil if nothing does.
func value(n *yamltree.Node, key string) *yamltree.Node {
	if e := n.Lookup(key); e != nil && e.Value.Kind != yamltree.Null {
		return e.Value
	}
	return nil
}

// word judges a scalar of a mapping by a rule; "" if it is absent or wrong.
func (r *reader) word(n *yamltree.Node, key, path string, want rule.Rule[string], required bool) string {
	at := value(n, key)
	switch {
	case at == nil && required:
		r.Fault(n, path+"."+key+" is missing", want.Allowed)
		return ""
	case at == nil || at.Kind != yamltree.Scalar: // reported by its shape
		return ""
	}
	v, ok := want.Parse(at.Text)
	if !ok {
		r.Fault(at, want.Fault(path+"."+key, at.Text), want.Allowed)
	}
	return v
}

// words judges the items of a list.
func (r *reader) words(n *yamltree.Node, key, path string, want rule.Rule[string]) {
	at := value(n, key)
	if at == nil {
		return
	}
	for _, item := range at.Items {
		if item.Kind != yamltree.Scalar {
			continue
		}
		if _, ok := want.Parse(item.Text); !ok {
			r.Fault(item, want.Fault(path+"."+key, item.Text), want.Allowed)
		}
	}
}
