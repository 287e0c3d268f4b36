package corpus

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"portico/provider/contoso"
)

// Providers writes the providers of a region map that serve all types of these templates and
// of the templates nested in them, under all api-versions with which they name the types, at
// endpoints by region. Beside the regions there is one for "global".
func Providers(endpoints map[string]string, templates ...[]byte) (string, error) {
	all := namespaces{}
	for _, text := range templates {
		var root map[string]any
		if err := json.Unmarshal(text, &root); err != nil {
			return "", err
		}
		all.resources(root["resources"], "")
		all.texts(root)
	}
	var at []string
	for _, region := range slices.Sorted(maps.Keys(endpoints)) {
		at = append(at, fmt.Sprintf("%s: [%q]", region, endpoints[region]))
	}
	var out strings.Builder
	for _, namespace := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&out, "  - namespace: %s\n    registration: required\n    endpoints: {%s}\n    resourceTypes:\n", namespace, strings.Join(at, ", "))
		for _, path := range slices.Sorted(maps.Keys(all[namespace])) {
			fmt.Fprintf(&out, "      - %s\n", all[namespace][path].row(path))
		}
	}
	return out.String(), nil
}

// habits are what providers make of properties, each region's in another way.
var habits = map[string][]string{
	"westus": {contoso.AddDefaults, contoso.HideProperties}, "eastus": {contoso.ReorderArrays, contoso.ChangeCasing},
	"northeurope": {contoso.AddDefaults}, "global": {contoso.HideProperties, contoso.ReorderArrays},
}

// Flags are those of contoso as the provider of a region.
func Flags(region string) []string {
	return []string{"--any-type", "--habit", strings.Join(habits[region], ",")}
}

// namespaces are the declared types by their paths, by their namespaces.
type namespaces map[string]map[string]*declared

// declared is how templates declare a type.
type declared struct {
	made, located, global, extends bool
	versions                       map[string]bool
}

// row is the type's row in a region map. A type that templates only read is taken for a
// tracked one, as most are.
func (d *declared) row(path string) string {
	kind, routing, capabilities := "proxyOnly", "", ""
	nested := strings.Contains(path, "/")
	switch {
	case d.extends:
		kind = "extension"
	case d.located, !d.made && !nested:
		kind, capabilities = "tracked", ", capabilities: {tags: true}"
	}
	if !nested && (d.global || kind == "proxyOnly") {
		routing = ", routing: global"
	}
	versions := slices.Sorted(maps.Keys(d.versions))
	slices.Reverse(versions)
	return fmt.Sprintf("{name: %s, kind: %s%s, apiVersions: [%s]%s}", path, kind, routing, strings.Join(versions, ", "), capabilities)
}

// served are the namespaces that need no provider of the map's.
var served = []string{"microsoft.resources", "microsoft.authorization", "microsoft.features"}

// add returns the type of a name, with its parents. It is nil for those that are served
// anyway, and for what is no name.
func (all namespaces) add(name string, versions ...string) *declared {
	if !typeName.MatchString(name) {
		return nil
	}
	namespace, path, _ := strings.Cut(name, "/")
	if slices.Contains(served, strings.ToLower(namespace)) {
		return nil
	}
	if parent := strings.LastIndexByte(path, '/'); parent > 0 {
		all.add(namespace+"/"+path[:parent], versions...)
	}
	namespace = spelled(all, namespace)
	if all[namespace] == nil {
		all[namespace] = map[string]*declared{}
	}
	path = spelled(all[namespace], path)
	if all[namespace][path] == nil {
		all[namespace][path] = &declared{versions: map[string]bool{}}
	}
	for _, version := range versions {
		if apiVersion.MatchString(version) {
			all[namespace][path].versions[`"`+version+`"`] = true
		}
	}
	return all[namespace][path]
}

// spelled returns a key in the casing in which a map has it.
func spelled[V any](in map[string]V, key string) string {
	for known := range in {
		if strings.EqualFold(known, key) {
			return known
		}
	}
	return key
}

// resources reads the resources of a template, or those below a resource of a type.
func (all namespaces) resources(list any, parent string) {
	each := func(v any) {
		if r, is := v.(map[string]any); is {
			all.resource(r, parent)
		}
	}
	switch list := list.(type) {
	case []any:
		for _, v := range list {
			each(v)
		}
	case map[string]any: // by symbols
		for _, v := range list {
			each(v)
		}
	}
}

func (all namespaces) resource(r map[string]any, parent string) {
	name, _ := r[spelled(r, "type")].(string)
	if parent != "" {
		name = parent + "/" + name
	}
	scope, extends := r["scope"].(string)
	if _, last, found := strings.Cut(name, "/providers/"); found { // the name has the namespace
		whole, _ := r["name"].(string)
		name, extends = namespaceInName.FindString(whole)+last, true
	}
	if version, is := r["apiVersion"].(string); is {
		if d := all.add(name, version); d != nil {
			d.extends = d.extends || extends && scope != "/"
			location, _ := r["location"].(string)
			d.located, d.global = d.located || r["location"] != nil, d.global || strings.EqualFold(location, "global")
			d.made = d.made || r["existing"] != true
		}
	}
	all.resources(r["resources"], name)
	properties, _ := r["properties"].(map[string]any)
	template, _ := properties["template"].(map[string]any)
	all.resources(template["resources"], "")
}

var (
	namespaceInName = regexp.MustCompile(`[A-Z]\w+(\.\w+)+/`)
	typeName        = regexp.MustCompile(`^[A-Za-z]\w*(\.\w+)+(/[A-Za-z]\w*)+$`)
	apiVersion      = regexp.MustCompile(`^\d{4}-\d\d-\d\d(-\w+)?$`)
	typeInText      = regexp.MustCompile(`'([A-Z]\w+(?:\.\w+)+(?:/\w+)+)'`)
	versionInText   = regexp.MustCompile(`'(\d{4}-\d\d-\d\d(?:-\w+)?)'`)
)

// texts reads the types in expressions, with the api-versions beside them.
func (all namespaces) texts(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, member := range v {
			all.texts(member)
		}
	case []any:
		for _, element := range v {
			all.texts(element)
		}
	case string:
		var versions []string
		for _, found := range versionInText.FindAllStringSubmatch(v, -1) {
			versions = append(versions, found[1])
		}
		for _, found := range typeInText.FindAllStringSubmatch(v, -1) {
			if len(versions) > 0 {
				all.add(found[1], versions...)
			}
		}
	}
}
