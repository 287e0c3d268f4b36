package contoso

import (
	"net/http"
	"slices"
)

// checkName reports whether a name is available at this endpoint.
func (p *Provider) checkName(c *call) (answer, error) {
	if c.method != http.MethodPost {
		return answer{}, notAllowed(http.MethodPost)
	}
	body, err := c.object()
	if err != nil {
		return answer{}, err
	}
	if _, given := body.present("name"); !given {
		return answer{}, invalidContent("The member 'name' is required: the name to check.")
	}
	name, err := body.text("name")
	if err != nil {
		return answer{}, err
	}
	typeName, err := body.text("type")
	if err != nil {
		return answer{}, err
	}
	i := slices.IndexFunc(p.catalog, func(t *resourceType) bool {
		return same(t.name(), typeName) && same(t.namespace, c.address.namespace)
	})
	if i < 0 {
		return answer{}, badRequest("InvalidResourceType", "The member 'type' must name a resource type of the namespace '%s'.", c.address.namespace)
	}
	return p.transact(func(x *tx) (answer, error) {
		if err := x.permits(c); err != nil {
			return answer{}, err
		}
		return jsonAnswer(http.StatusOK, x.availability(name, p.catalog[i])), nil
	})
}

type availability struct {
	NameAvailable bool   `json:"nameAvailable"`
	Reason        string `json:"reason,omitempty"`
	Message       string `json:"message,omitempty"`
}

func (t *tx) availability(name string, kind *resourceType) availability {
	if !validName(name) {
		return availability{Reason: "Invalid", Message: "The name is not valid. A name has 1 to 260 characters, none of <>%&:\\?/ and no control characters."}
	}
	if t.nameTaken(name, kind) && !t.breaks[checkNameWrong] {
		return availability{Reason: "AlreadyExists", Message: "The name '" + name + "' is already in use. Choose another."}
	}
	return availability{NameAvailable: true}
}

// nameTaken reports whether a present resource, or one that is about to
// appear, has the name.
func (t *tx) nameTaken(name string, kind *resourceType) bool {
	is := func(r *resource) bool { return r != nil && r.Type == kind.name() && same(r.Name, name) }
	for _, r := range t.resources {
		if is(r) {
			return true
		}
	}
	for _, o := range t.running {
		if is(o.Hidden) {
			return true
		}
	}
	return false
}

type usage struct {
	Name         localized `json:"name"`
	Unit         string    `json:"unit"`
	CurrentValue int       `json:"currentValue"`
	Limit        int       `json:"limit"`
}

type localized struct {
	Value          string `json:"value"`
	LocalizedValue string `json:"localizedValue"`
}

// usages returns the number of the subscription's resources of each type at
// this endpoint.
func (p *Provider) usages(c *call) (answer, error) {
	if c.method != http.MethodGet {
		return answer{}, notAllowed(http.MethodGet)
	}
	return p.transact(func(x *tx) (answer, error) {
		count := map[string]int{}
		for _, k := range x.keysBelow("/subscriptions/"+fold(c.address.subscription)+"/", "") {
			count[x.resource(k).Type]++
		}
		value := []usage{}
		for _, t := range p.catalog {
			if same(t.namespace, c.address.namespace) {
				value = append(value, usage{localized{t.path, t.path}, "Count", count[t.name()], 25000})
			}
		}
		return jsonAnswer(http.StatusOK, map[string]any{"value": value}), nil
	})
}

type operationEntry struct {
	Name         string           `json:"name"`
	IsDataAction bool             `json:"isDataAction"`
	Display      operationDisplay `json:"display"`
}

type operationDisplay struct {
	Provider    string `json:"provider"`
	Resource    string `json:"resource"`
	Operation   string `json:"operation"`
	Description string `json:"description"`
}

// listOperations handles GET /providers/{namespace}/operations.
func (p *Provider) listOperations(c *call) (answer, error) {
	if c.method != http.MethodGet {
		return answer{}, notAllowed(http.MethodGet)
	}
	value := []operationEntry{}
	add := func(t *resourceType, suffix, verb string) {
		value = append(value, operationEntry{t.name() + "/" + suffix, false,
			operationDisplay{t.namespace, t.path, verb + " " + t.path, verb + " resources of the type " + t.name() + "."}})
	}
	for _, t := range p.catalog {
		if !same(t.namespace, c.address.namespace) {
			continue
		}
		add(t, "read", "Read")
		if t.readOnly {
			continue
		}
		add(t, "write", "Write")
		add(t, "delete", "Delete")
		for _, a := range t.actions {
			add(t, a.name+"/action", a.name)
		}
	}
	return jsonAnswer(http.StatusOK, map[string]any{"value": value}), nil
}
