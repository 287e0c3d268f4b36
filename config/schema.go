package config

import (
	"bytes"
	"encoding/json"
	"io"
)

// schema is a JSON schema: an object whose members keep their order.
type schema []member

type member struct {
	name  string
	value any
}

// MarshalJSON writes the members in their order.
func (s schema) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range s {
		if i > 0 {
			b.WriteByte(',')
		}
		for j, v := range []any{m.name, m.value} {
			var text bytes.Buffer
			e := json.NewEncoder(&text)
			e.SetEscapeHTML(false)
			if err := e.Encode(v); err != nil {
				return nil, err
			}
			if j > 0 {
				b.WriteByte(':')
			}
			b.Write(bytes.TrimSpace(text.Bytes()))
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// WriteSchema writes a JSON schema (draft 2020-12) of one configuration file,
// by which editors complete and check it. What no schema can say, such as
// whether a type has an endpoint in each of its locations, it leaves to
// [Load]; and it asks for no section, as another file may hold it.
func WriteSchema(w io.Writer) error {
	d, err := describe()
	if err != nil {
		return err
	}
	root := schema{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"title", "Configuration of Portico"},
	}
	text, err := append(root, d.object("", false)...).MarshalJSON()
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return err
	}
	out.WriteByte('\n')
	_, err = out.WriteTo(w)
	return err
}

// of describes what stands under a path. inItem says that it belongs to an
// item of a list: that stands in one file as a whole, so that keys can be
// missing from it.
func (d *description) of(path string, inItem bool) schema {
	s := d.settings[path]
	told := schema{{"description", d.told(path)}}
	if preset, written := d.preset(path); written {
		told = append(told, member{"default", s.shape.value(preset)})
	}
	switch s.form {
	case isMapping:
		object := d.object(path, inItem)
		if s.word == "" {
			return append(told, object...)
		}
		return append(told, member{"oneOf", []schema{{{"const", s.word}}, object}})
	case isList:
		return append(told, listOf(s.shape.schema(), s.filled && inItem)...)
	case isMappings:
		return append(told, listOf(d.object(path, true), s.filled && inItem)...)
	case isAddresses:
		return append(told, schema{{"type", "object"}, {"additionalProperties", listOf(s.shape.schema(), true)}}...)
	}
	return append(told, s.shape.schema()...)
}

func listOf(items schema, filled bool) schema {
	s := schema{{"type", "array"}, {"items", items}}
	if filled {
		s = append(s, member{"minItems", 1})
	}
	return s
}

// object describes the keys under a path.
func (d *description) object(path string, inItem bool) schema {
	var properties schema
	var needed []string
	for i, child := range d.below(path) {
		key := d.settings[path].keys[i]
		properties = append(properties, member{key, d.of(child, inItem)})
		if d.settings[child].needed && inItem {
			needed = append(needed, key)
		}
	}
	s := schema{{"type", "object"}, {"properties", properties}, {"additionalProperties", false}}
	if len(needed) > 0 {
		s = append(s, member{"required", needed})
	}
	return s
}

// told is what an editor shows of a setting.
func (d *description) told(path string) string {
	text := d.meanings[path].text
	if preset, written := d.preset(path); preset != "" && !written {
		text += " Default: " + preset + "."
	}
	if allowed := d.allowed(path); allowed != "" {
		text += " Allowed: " + allowed + "."
	}
	return text
}
