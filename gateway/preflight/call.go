package preflight

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"portico/arm"
	"portico/internal/jsontext"
	"portico/internal/schema"
)

// mostResources bounds the resources of one call, as ARM does.
const mostResources = 800

// call is the body of a validateResources call.
type call struct {
	Provider string `json:"provider"`
	Type     string `json:"type"`
	Location string `json:"location"`
	Scope    string `json:"scope"`
	// WithoutWrite: judge the resources even if no role lets the caller write.
	WithoutWrite bool            `json:"performPreflightWithoutRbacWriteCheck"`
	Resources    json.RawMessage `json:"resources"`
	// extends reports whether resources of a type may be attached to other resources.
	extends func(typeName string) bool
}

// Resource is a planned resource.
type Resource struct {
	ID         string // as shown in the answer
	Path       string // of its PUT; differs from the ID if its parent is not known
	Above      bool   // Path stands in for an unknown one: at the scope instead of an unknown parent, or with another name
	APIVersion string
	Type       string // such as "Contoso.Compute/virtualMachines/disks"
	Name       string // "parent/child" for a child
	Location   string // as written, its own or the call's; may be ""
	Body       []byte // of its PUT; a location that only the call has is missing
	Nested     bool   // it is a deployment within another one
}

// readCall reads a call and its resources.
func readCall(content []byte, extends func(typeName string) bool) (*call, []Resource, *arm.Error) {
	c := &call{extends: extends}
	if err := json.Unmarshal(content, c); err != nil {
		return nil, nil, unreadable(err.Error(), "")
	}
	if fault := checkScope(c.Scope); fault != nil {
		return nil, nil, fault
	}
	var all []Resource
	var fault *arm.Error
	n := 0
	err := jsontext.Array(c.Resources, func(e jsontext.Element) error {
		if n++; n > mostResources {
			return fmt.Errorf("there are more than %d resources", mostResources)
		}
		r, misfit := c.resource(e.Text)
		if misfit != nil {
			fault = unreadable(misfit.Error(), fmt.Sprintf("resources[%d]", n-1))
			return fault
		}
		all = append(all, r)
		return nil
	})
	switch {
	case fault != nil:
		return nil, nil, fault
	case len(c.Resources) == 0, err == nil && n == 0:
		return nil, nil, unreadable("there are no resources", "resources")
	case err != nil:
		return nil, nil, unreadable(err.Error(), "resources")
	}
	return c, all, nil
}

func unreadable(why, path string) *arm.Error {
	return arm.NewError(arm.InvalidRequestContent, why+". Path '"+path+"'").WithTarget(path)
}

// checkScope refuses a scope that is not a path: the paths of the resources start with it.
func checkScope(scope string) *arm.Error {
	var path arm.Path
	if !strings.HasPrefix(scope, "/") || strings.ContainsAny(scope, "?#") || path.Parse(scope) != nil {
		return unreadable("the scope is not the ID of a subscription, a resource group or a resource", "scope")
	}
	return nil
}

// planned holds the members of a planned resource that the body of its PUT does not have, and
// the properties.
type planned struct {
	APIVersion string          `json:"apiVersion"`
	Name       string          `json:"name"`
	Type       string          `json:"type"`
	Properties json.RawMessage `json:"properties"`
}

// resource reads one resource.
func (c *call) resource(text []byte) (Resource, error) {
	var p planned
	if err := json.Unmarshal(text, &p); err != nil {
		return Resource{}, err
	}
	r := Resource{APIVersion: p.APIVersion, Name: strings.Trim(p.Name, "/"), Type: c.typeOf(p.Type)}
	switch {
	case r.Name == "":
		return r, fmt.Errorf("the resource has no name")
	case strings.Count(r.Type, "/") == 0:
		return r, fmt.Errorf("the resource has no type")
	}
	r.Body = bodyOf(text, r.Type, p.Properties)
	r.Location = c.Location
	if own, ok := jsontext.Text(jsontext.Value(r.Body, "location")); ok {
		r.Location = own
	}
	err := c.setPath(&r)
	return r, err
}

// typeOf returns the full type of a resource, completed from the call's provider and type.
func (c *call) typeOf(own string) string {
	own = strings.Trim(own, "/")
	if own == "" {
		own = strings.Trim(c.Type, "/")
	}
	if first, _, _ := strings.Cut(own, "/"); !strings.Contains(first, ".") && c.Provider != "" && !arm.EqualFold(first, c.Provider) {
		own = c.Provider + "/" + own
	}
	return own
}

// tagsType is the type whose inner properties have a member named like one of the body, tags.
const tagsType = "Microsoft.Resources/tags"

// topMembers are members at the top of a body. An object without any of them is the inner
// properties of a resource.
var topMembers = []string{"properties", "location", "tags", "sku", "kind", "identity"}

// bodyOf returns the body of a resource's PUT. Some clients send its members next to the name,
// some send the whole body as properties, and some only the inner properties.
func bodyOf(resource []byte, typeName string, properties []byte) []byte {
	var flat []member
	others := 0
	_ = jsontext.Object(resource, func(m jsontext.Member) error {
		switch string(m.Key) {
		case "apiVersion", "name", "type":
			return nil
		case "properties":
		default:
			others++
		}
		flat = append(flat, member{string(m.Key), m.Value})
		return nil
	})
	if others > 0 || len(properties) == 0 || arm.EqualFold(typeName, tagsType) {
		return objectOf(flat...)
	}
	for _, name := range topMembers {
		if jsontext.Value(properties, name) != nil {
			return properties
		}
	}
	return objectOf(member{"properties", properties})
}

// member is a member of an object, with its value in JSON.
type member struct {
	name  string
	value []byte
}

func objectOf(all ...member) []byte {
	text := []byte{'{'}
	for _, m := range all {
		text = appendMember(text, m)
	}
	return append(text, '}')
}

// appendMember appends a member to the text of an object without its closing brace.
func appendMember(object []byte, m member) []byte {
	if len(object) > 1 {
		object = append(object, ',')
	}
	name, _ := json.Marshal(m.name) // marshaling a string does not fail
	return append(append(append(object, name...), ':'), m.value...)
}

// groupType is the type of resource groups, whose paths have no providers segment.
const groupType = "Microsoft.Resources/resourceGroups"

// setPath sets the ID and the path of a resource, and the full name.
func (c *call) setPath(r *Resource) error {
	namespace, rest, _ := strings.Cut(r.Type, "/")
	types, names := strings.Split(rest, "/"), strings.Split(r.Name, "/")
	var scope arm.Path
	_ = scope.Parse(c.Scope) // [checkScope] has checked it
	at := position{scope.String(), scope.Escaped()}
	if schema.UnknownText(r.Name) { // judge what does not depend on the name
		r.ID, r.Above, names = at.id+"/providers/"+r.Type+"/"+r.Name, true, []string{uuid.NewString()}
	}
	if arm.EqualFold(r.Type, groupType) && len(names) == 1 && scope.Subscription() != "" {
		r.setPosition(position{scope.Prefix(2), "/subscriptions/" + url.PathEscape(scope.Subscription())}.below("resourceGroups", names[0]))
		return nil
	}
	parents := parentsIn(&scope, namespace, types[:len(types)-1])
	missing := len(types) - len(names)
	switch {
	case missing < 0 && len(parents) == 0 && c.extends(r.Type):
		// Some clients put the extended resource into the name, "vm/keep", without its
		// type. At the scope, everything that does not depend on the parent can be judged.
		r.ID, r.Above = at.id+"/providers/"+r.Type+"/"+r.Name, true
		names = names[-missing:]
	case missing < 0:
		return fmt.Errorf("the name '%s' has more parts than the type '%s'", r.Name, r.Type)
	case missing == 0:
		for i, name := range parents {
			if !arm.EqualFold(name, names[i]) {
				return fmt.Errorf("the name '%s' and the scope name different parents", r.Name)
			}
		}
		names = names[len(parents):]
	case missing == len(parents):
		r.Name = strings.Join(append(parents, names...), "/")
	default: // below unknown parents
		r.ID = at.id + "/providers/" + r.Type + "/" + r.Name
		parents = nil
		for range missing {
			names = append([]string{uuid.NewString()}, names...)
		}
	}
	if len(parents) == 0 {
		at = at.below("providers", namespace)
	}
	for i, name := range names {
		at = at.below(types[len(types)-len(names)+i], name)
	}
	r.setPosition(at)
	return nil
}

// setPosition sets the path of a resource, and the ID unless it is already set.
func (r *Resource) setPosition(at position) {
	r.Path = at.path
	if r.ID == "" {
		r.ID = at.id
	}
}

// position is a place in the tree of resources, as its ID and as the path of a request.
type position struct{ id, path string }

func (p position) below(typeName, name string) position {
	return position{p.id + "/" + typeName + "/" + name, p.path + "/" + url.PathEscape(typeName) + "/" + url.PathEscape(name)}
}

// parentsIn returns the names at the end of a scope that belong to the given parent types,
// outermost first.
func parentsIn(scope *arm.Path, namespace string, types []string) (names []string) {
	if scope.Hops() == 0 || len(types) == 0 {
		return nil
	}
	hop := scope.LastHop()
	if !arm.EqualFold(hop.Namespace(), namespace) || hop.Len() == 0 || hop.Len()%2 != 0 || hop.Len()/2 > len(types) {
		return nil
	}
	for i := 0; i < hop.Len(); i += 2 {
		if !arm.EqualFold(hop.Segment(i), types[i/2]) {
			return nil
		}
		names = append(names, hop.Segment(i+1))
	}
	return names
}

// withLocation returns a body with the given location added, if it has none.
func withLocation(body []byte, location string) []byte {
	if location == "" || jsontext.Value(body, "location") != nil {
		return body
	}
	text, _ := json.Marshal(location)
	with := objectOf(member{"location", text})
	if rest := bytes.TrimSpace(body[bytes.IndexByte(body, '{')+1:]); !bytes.HasPrefix(rest, []byte("}")) {
		return append(append(with[:len(with)-1], ','), rest...)
	}
	return with
}
