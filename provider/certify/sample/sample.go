// Package sample makes bodies for the suite from a provider's own OpenAPI
// documents, of version 2 or 3, as JSON or YAML: for each resource type a
// body that creates a resource, and a change of it.
//
// A body has the members that its schema requires, except those that only a
// server sets. Values come from the operation's examples, the schema's
// examples and defaults, enumerations, and otherwise from the schema's
// bounds. A document cannot express everything, for example that a string
// must be the name of an existing resource: then the body has to be given.
package sample

import (
	"fmt"
	"slices"
	"strings"

	"portico/internal/schema"
	"portico/provider/certify/contract"
)

// Sample holds the bodies for one resource type.
type Sample struct {
	// Create is a body that creates a resource, without location and tags,
	// which the suite adds.
	Create contract.Object
	// Update is a merge-patch of Create that changes one of its properties; nil if no
	// property can be changed.
	Update contract.Object
}

// Bodies makes a sample for each type, "Acme.Stuff/widgets/parts", that has a
// PUT in one of the documents; other types have no entry. References may lead
// to other files relative to a document. The error names the document, the
// path and the member without a value.
func Bodies(files, types []string) (map[string]Sample, error) {
	l := schema.Library{}
	samples := map[string]Sample{}
	for _, file := range files {
		d, err := l.Load(file)
		if err != nil {
			return nil, err
		}
		for _, name := range types {
			if _, exists := samples[name]; exists {
				continue
			}
			o := d.Put(name)
			if o == nil {
				continue
			}
			s, err := sampled(l, o)
			if err != nil {
				return nil, fmt.Errorf("%s: PUT %s: %w", file, o.Path, err)
			}
			samples[name] = s
		}
	}
	return samples, nil
}

func sampled(l schema.Library, o *schema.Operation) (Sample, error) {
	body, err := l.Body(o)
	if err != nil {
		return Sample{}, err
	}
	m := &maker{Library: l}
	values, err := m.value(body, member{}, m.examples(o))
	if err != nil {
		return Sample{}, err
	}
	create, ok := values[0].(contract.Object)
	if !ok {
		return Sample{}, fmt.Errorf("the body is %s, but must be an object", kindOf(values[0]))
	}
	return Sample{Create: create, Update: m.update(create)}, nil
}

// member is the path of a member in the body: names, and indexes of arrays.
type member []string

func (m member) String() string {
	if len(m) == 0 {
		return "the body"
	}
	return strings.ReplaceAll(strings.Join(m, "."), ".[", "[")
}

func (m member) child(name string) member { return append(slices.Clip(m), name) }

// noValue returns an error about a member without a value.
func noValue(at member, why string, args ...any) error {
	return fmt.Errorf("%s: %s", at, fmt.Sprintf(why, args...))
}
