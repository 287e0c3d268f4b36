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

// mostResources is how many resources one call may hold, as in ARM.
const mostResources = 800

// call is what a client asks.
type call struct {
	Provider string `json:"provider"`
	Type     string `json:"type"`
	Location string `json:"location"`
	Scope    string `json:"scope"`
	// WithoutWrite: the caller wants to know even if no role lets it write.
	WithoutWrite bool            `json:"performPreflightWithoutRbacWriteCheck"`
	Resources    json.RawMessage `json:"resources"`
	// extends reports whether resources of a type may be attached to other resources.
	extends func(typeName string) bool
}

// Resource is a planned resource.
type Resource struct {
	ID         string // as the answer names it
	Path       string // of its PUT; unlike the ID if its parent is not known
	Above      bool   // Path names another resource: at the scope, above a parent of which the type is not known, or of another name
	APIVersion string
	Type       string // "Contoso.Compute/virtualMachines/disks"
	Name       string // of a child "parent/child"
	Location   string // as written, its own or the call's; ""
	Body       []byte // of its PUT, but for a location that only the call has
	Nested     bool   // it is a deployment that another one begins
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
	return arm.NewError(arm.InvalidRequestContent, why+". Path '"+path+"'").About(path)
}

// checkScope refuses what is no path: the paths of the resources are made of it.
func checkScope(scope string) *arm.Error {
	var path arm.Path
	if !strings.HasPrefix(scope, "/") || strings.ContainsAny(scope, "?#") || path.Parse(scope) != nil {
		return unreadable("the scope is not the ID of a subscription, a resource group or a resource", "scope")
	}
	return nil
}

// planned are the members of a resource that are not those of its body alone.
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
	err := c.place(&r)
	return r, err
}

// typeOf is the full type of a resource: its own, or the call's.
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

// tagsType is the type whose inner properties have a member of the name of a body's own.
const tagsType = "Microsoft.Resources/tags"

// members stand at the top of a body; one without any is the inner properties alone.
var members = []string{"properties", "location", "tags", "sku", "kind", "identity"}

// bodyOf is the body of a resource's PUT. Some clients set its members next to the
// name, some put all of it under properties, and some the inner properties alone.
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
	for _, name := range members {
		if jsontext.Value(properties, name) != nil {
			return properties
		}
	}
	return objectOf(member{"properties", properties})
}

// member is a member of an object, its value as it is written.
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

// appendMember writes a further member of an object that is not closed.
func appendMember(object []byte, m member) []byte {
	if len(object) > 1 {
		object = append(object, ',')
	}
	name, _ := json.Marshal(m.name) // a string can be written
	return append(append(append(object, name...), ':'), m.value...)
}

// groupType is the type of resource groups, which lie below no provider.
const groupType = "Microsoft.Resources/resourceGroups"

// place finds the path of a resource.
func (c *call) place(r *Resource) error {
	namespace, rest, _ := strings.Cut(r.Type, "/")
	types, names := strings.Split(rest, "/"), strings.Split(r.Name, "/")
	var scope arm.Path
	_ = scope.Parse(c.Scope) // which [checkScope] has done
	at := position{scope.String(), scope.Escaped()}
	if schema.UnknownText(r.Name) { // all is judged that does not depend on the name
		r.ID, r.Above, names = at.id+"/providers/"+r.Type+"/"+r.Name, true, []string{uuid.NewString()}
	}
	if arm.EqualFold(r.Type, groupType) && len(names) == 1 && scope.Subscription() != "" {
		r.place(position{scope.Prefix(2), "/subscriptions/" + url.PathEscape(scope.Subscription())}.below("resourceGroups", names[0]))
		return nil
	}
	parents := parentsIn(&scope, namespace, types[:len(types)-1])
	missing := len(types) - len(names)
	switch {
	case missing < 0 && len(parents) == 0 && c.extends(r.Type):
		// Some clients name an extension by what it extends, "vm/keep", and drop the type
		// of that. At the scope all can be judged that does not depend on the parent.
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
	r.place(at)
	return nil
}

// place sets where a resource is, whose ID may be known.
func (r *Resource) place(at position) {
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

// parentsIn are the names of the resources of types, outermost first, that a scope ends in.
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

// withLocation is a body with the call's location, if it has none.
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
