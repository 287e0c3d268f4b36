package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"portico/config/yamltree"
)

// asJSON returns a node as the JSON that a Go value of the type reads, by the type's yaml
// tags. It reports whatever does not fit with its place. The description of a provider
// has many members, and this way each is read by the type that declares it.
func (r *reader) asJSON(n *yamltree.Node, want reflect.Type, path string) any {
	if n.Kind == yamltree.Null {
		return nil
	}
	switch want.Kind() {
	case reflect.Pointer:
		return r.asJSON(n, want.Elem(), path)
	case reflect.Struct:
		return r.members(n, want, path)
	case reflect.Map:
		return r.entries(n, want, path)
	case reflect.Slice:
		return r.list(n, want, path)
	case reflect.Interface:
		return r.JSON(n)
	}
	return r.scalar(n, want, path)
}

// members reads a mapping whose keys a struct names.
func (r *reader) members(n *yamltree.Node, want reflect.Type, path string) any {
	legal := memberTypes(want)
	if n.Kind != yamltree.Mapping {
		r.Fault(n, fmt.Sprintf("%s is %s, not a mapping", path, n.Kind), "the keys "+yamltree.Choice(legal.names))
		return nil
	}
	o := map[string]any{}
	for _, e := range n.Entries {
		i := slices.Index(legal.names, e.Key.Text)
		if i < 0 {
			r.Fault(e.Key, fmt.Sprintf("unknown key %s in %s", yamltree.Quote(e.Key.Text), path), yamltree.Choice(legal.names))
			continue
		}
		o[e.Key.Text] = r.asJSON(e.Value, legal.types[i], yamltree.Join(path, e.Key.Text))
	}
	return o
}

// named are the keys of a mapping, and the types of their values.
type named struct {
	names []string
	types []reflect.Type
}

func memberTypes(of reflect.Type) named {
	var all named
	for i := range of.NumField() {
		field := of.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		if field.IsExported() && name != "" && name != "-" {
			all.names, all.types = append(all.names, name), append(all.types, field.Type)
		}
	}
	return all
}

// entries reads a mapping whose keys the file chooses.
func (r *reader) entries(n *yamltree.Node, want reflect.Type, path string) any {
	if n.Kind != yamltree.Mapping {
		r.Fault(n, fmt.Sprintf("%s is %s, not a mapping", path, n.Kind), "keys with values, such as {a: b}")
		return nil
	}
	o := map[string]any{}
	for _, e := range n.Entries {
		o[e.Key.Text] = r.asJSON(e.Value, want.Elem(), yamltree.Join(path, e.Key.Text))
	}
	return o
}

func (r *reader) list(n *yamltree.Node, want reflect.Type, path string) any {
	if n.Kind != yamltree.List {
		r.Fault(n, fmt.Sprintf("%s is %s, not a list", path, n.Kind), "a list, such as [a, b]")
		return nil
	}
	all := make([]any, 0, len(n.Items))
	for _, item := range n.Items {
		all = append(all, r.asJSON(item, want.Elem(), path+"[]"))
	}
	return all
}

func (r *reader) scalar(n *yamltree.Node, want reflect.Type, path string) any {
	refuse := func(noun, allowed string) any {
		r.Fault(n, fmt.Sprintf("%s: %s is no %s", path, yamltree.Quote(n.Text), noun), allowed)
		return nil
	}
	if n.Kind != yamltree.Scalar {
		r.Fault(n, fmt.Sprintf("%s is %s, not a single value", path, n.Kind), "a single value")
		return nil
	}
	if want == reflect.TypeFor[time.Duration]() {
		if d, err := time.ParseDuration(n.Text); err != nil || d <= 0 {
			return refuse("positive duration", "numbers with units, such as 500ms, 5s")
		}
		return n.Text
	}
	switch want.Kind() {
	case reflect.String:
		return n.Text
	case reflect.Bool:
		if n.Text != "true" && n.Text != "false" {
			return refuse("truth value", "true, false")
		}
		return n.Text == "true"
	case reflect.Int, reflect.Int64:
		v, err := strconv.Atoi(n.Text)
		if err != nil {
			return refuse("whole number", "a whole number, such as 200")
		}
		return v
	}
	return refuse(want.String(), "nothing") // a kind that no member has
}
