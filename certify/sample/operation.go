package sample

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// operation is a PUT of a document.
type operation struct {
	doc       *document
	path      string
	pathItem  map[string]any
	operation map[string]any
}

// put finds the PUT of a type's instances; nil if the document has none. Of several it is
// the one below a resource group, else the one with the shortest path.
func (d *document) put(typeName string) *operation {
	var found []*operation
	for _, paths := range []string{"paths", "x-ms-paths"} {
		items := at(d.root, paths)
		for _, path := range slices.Sorted(maps.Keys(items)) {
			item, _ := items[path].(map[string]any)
			if put := at(item, "put"); put != nil && strings.EqualFold(typeOf(path), typeName) {
				found = append(found, &operation{d, path, item, put})
			}
		}
	}
	if len(found) == 0 {
		return nil
	}
	outside := func(o *operation) int {
		if strings.Contains(strings.ToLower(o.path), "/resourcegroups/") {
			return 0
		}
		return 1
	}
	return slices.MinFunc(found, func(a, b *operation) int {
		return cmp.Or(cmp.Compare(outside(a), outside(b)), cmp.Compare(len(a.path), len(b.path)))
	})
}

// typeOf is the type whose instances a path names, "" if it names none.
func typeOf(path string) string {
	path, _, _ = strings.Cut(path, "?")
	i := strings.LastIndex(strings.ToLower(path), "/providers/")
	if i < 0 {
		return ""
	}
	segments := strings.Split(strings.Trim(path[i+len("/providers/"):], "/"), "/")
	if len(segments)%2 == 0 { // a namespace, and pairs of type and name
		return ""
	}
	name := segments[0]
	for i := 1; i < len(segments); i += 2 {
		name += "/" + segments[i]
	}
	if len(segments) == 1 || strings.Contains(name, "{") {
		return ""
	}
	return name
}

// body is the schema of what the operation takes.
func (l library) body(o *operation) (node, error) {
	parameter, err := l.bodyParameter(o)
	if err != nil {
		return node{}, err
	}
	schema := at(parameter.value, "schema")
	if content := at(parameter.value, "content"); content != nil {
		schema = at(content, jsonOf(content), "schema")
	}
	if schema == nil {
		return node{}, errors.New("the body has no schema for JSON")
	}
	return node{doc: parameter.doc, value: schema}, nil
}

// bodyParameter is the parameter of version 2 that is the body, or the requestBody of
// version 3.
func (l library) bodyParameter(o *operation) (node, error) {
	if body := at(o.operation, "requestBody"); body != nil {
		return l.resolve(node{doc: o.doc, value: body})
	}
	for _, place := range []map[string]any{o.operation, o.pathItem} {
		list, _ := place["parameters"].([]any)
		for _, item := range list {
			value, _ := item.(map[string]any)
			parameter, err := l.resolve(node{doc: o.doc, value: value})
			if errors.Is(err, errNoFile) { // of the parameters that all operations share
				continue
			}
			if err != nil {
				return node{}, err
			}
			if parameter.value["in"] == "body" {
				return parameter, nil
			}
		}
	}
	return node{}, errors.New("the operation takes no body")
}

// jsonOf is the content type of JSON.
func jsonOf(content map[string]any) string {
	for _, name := range slices.Sorted(maps.Keys(content)) {
		if strings.Contains(name, "json") {
			return name
		}
	}
	return ""
}

// examples are bodies that the document gives as examples of the operation, the smallest
// first: what it has is the least that is said to be enough.
func (l library) examples(o *operation) []any {
	parameter, err := l.bodyParameter(o)
	if err != nil {
		return nil
	}
	var bodies []any
	content := at(parameter.value, "content")
	media := at(content, jsonOf(content))
	if example, given := media["example"]; given {
		bodies = append(bodies, example)
	}
	for _, example := range l.named(parameter.doc, at(media, "examples")) {
		bodies = append(bodies, example["value"])
	}
	name, _ := parameter.value["name"].(string)
	for _, example := range l.named(o.doc, at(o.operation, "x-ms-examples")) {
		parameters := at(example, "parameters")
		for _, key := range []string{name, "parameters", "resource", "body", "properties"} {
			if body := at(parameters, key); body != nil {
				bodies = append(bodies, body)
				break
			}
		}
	}
	slices.SortStableFunc(bodies, func(a, b any) int { return cmp.Compare(size(a), size(b)) })
	return bodies
}

// size is how many values a value holds.
func size(v any) int {
	n := 1
	switch v := v.(type) {
	case map[string]any:
		for _, inner := range v {
			n += size(inner)
		}
	case []any:
		for _, inner := range v {
			n += size(inner)
		}
	}
	return n
}

// named are the examples by their names; those in files that are not there are left out.
func (l library) named(doc *document, examples map[string]any) []map[string]any {
	var all []map[string]any
	for _, name := range slices.Sorted(maps.Keys(examples)) {
		if n, err := l.resolve(node{doc: doc, value: at(examples, name)}); err == nil && n.value != nil {
			all = append(all, n.value)
		}
	}
	return all
}

func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case map[string]any:
		return "an object"
	case []any:
		return "an array"
	}
	return fmt.Sprintf("a %T", v)
}
