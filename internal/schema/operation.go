package schema

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"
)

// Operation is a PUT operation of a document.
type Operation struct {
	Doc      *Document
	Path     string
	Value    map[string]any
	pathItem map[string]any
}

// Put returns the PUT operation of a resource type, or nil. If there are several, paths in a
// resource group come first, then shorter paths.
func (d *Document) Put(typeName string) *Operation {
	var found []*Operation
	for _, paths := range []string{"paths", "x-ms-paths"} {
		items := ObjectAt(d.root, paths)
		for _, path := range slices.Sorted(maps.Keys(items)) {
			item, _ := items[path].(map[string]any)
			if put := ObjectAt(item, "put"); put != nil && strings.EqualFold(typeOf(path), typeName) {
				found = append(found, &Operation{d, path, put, item})
			}
		}
	}
	if len(found) == 0 {
		return nil
	}
	outside := func(o *Operation) int {
		if strings.Contains(strings.ToLower(o.Path), "/resourcegroups/") {
			return 0
		}
		return 1
	}
	return slices.MinFunc(found, func(a, b *Operation) int {
		return cmp.Or(cmp.Compare(outside(a), outside(b)), cmp.Compare(len(a.Path), len(b.Path)))
	})
}

// typeOf returns the resource type of a path, or "".
func typeOf(path string) string {
	path, _, _ = strings.Cut(path, "?")
	i := strings.LastIndex(strings.ToLower(path), "/providers/")
	if i < 0 {
		return ""
	}
	segments := strings.Split(strings.Trim(path[i+len("/providers/"):], "/"), "/")
	if len(segments)%2 == 0 { // not a namespace followed by pairs of type and name
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

// Body returns the schema of the operation's request body.
func (l Library) Body(o *Operation) (Node, error) {
	parameter, err := l.BodyParameter(o)
	if err != nil {
		return Node{}, err
	}
	schema := ObjectAt(parameter.Value, "schema")
	if content := ObjectAt(parameter.Value, "content"); content != nil {
		schema = ObjectAt(content, JSONOf(content), "schema")
	}
	if schema == nil {
		return Node{}, errors.New("the body has no schema for JSON")
	}
	return Node{Doc: parameter.Doc, Value: schema}, nil
}

// BodyParameter returns the body parameter (version 2) or the requestBody (version 3).
func (l Library) BodyParameter(o *Operation) (Node, error) {
	if body := ObjectAt(o.Value, "requestBody"); body != nil {
		return l.Resolve(Node{Doc: o.Doc, Value: body})
	}
	for _, place := range []map[string]any{o.Value, o.pathItem} {
		list, _ := place["parameters"].([]any)
		for _, item := range list {
			value, _ := item.(map[string]any)
			parameter, err := l.Resolve(Node{Doc: o.Doc, Value: value})
			if errors.Is(err, errNoFile) { // parameters shared by all operations may be in a file that is missing
				continue
			}
			if err != nil {
				return Node{}, err
			}
			if parameter.Value["in"] == "body" {
				return parameter, nil
			}
		}
	}
	return Node{}, errors.New("the operation takes no body")
}

// JSONOf returns the first content type of JSON, or "".
func JSONOf(content map[string]any) string {
	for _, name := range slices.Sorted(maps.Keys(content)) {
		if strings.Contains(name, "json") {
			return name
		}
	}
	return ""
}
