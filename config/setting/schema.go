package setting

import (
	"bytes"
	"encoding/json"
	"io"

	"portico/config/rule"
)

// jsonObject is a JSON object with ordered members.
type jsonObject []member

type member struct {
	name  string
	value any
}

// MarshalJSON writes the members in order.
func (o jsonObject) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
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

// WriteSchema writes a JSON schema (draft 2020-12) of one file, for editors. No section is
// required, because another file may contain it.
func WriteSchema(w io.Writer, title string, rows []*Setting) error {
	root := jsonObject{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"title", title},
	}
	text, err := append(root, objectOf(rows, false)...).MarshalJSON()
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

// jsonSchema describes a setting. inItem means that it belongs to an item of a list. An item is in
// one file as a whole, so its missing keys can be detected.
func (s *Setting) jsonSchema(inItem bool) jsonObject {
	out := jsonObject{{"description", s.description()}}
	if text := formatValue(s.initial); text != "" && s.initialText == "" {
		out = append(out, member{"default", valueOf(s.schema, text)})
	}
	switch s.kind {
	case mapping:
		object := objectOf(s.below(), inItem)
		if s.word == "" {
			return append(out, object...)
		}
		return append(out, member{"oneOf", []jsonObject{{{"const", s.word}}, object}})
	case list:
		return append(out, listOf(scalarSchema(s.schema), s.nonEmpty && inItem)...)
	case mappings:
		return append(out, listOf(objectOf(s.below(), true), s.nonEmpty && inItem)...)
	case addresses:
		return append(out, jsonObject{{"type", "object"}, {"additionalProperties", listOf(scalarSchema(s.schema), true)}}...)
	case free, removed:
		return out
	case scalar:
	}
	return append(out, scalarSchema(s.schema)...)
}

// description returns the text that an editor shows.
func (s *Setting) description() string {
	text := s.doc
	if s.initialText != "" {
		text += " Default: " + s.initialText + "."
	}
	if s.allowed != "" {
		text += " Allowed: " + s.allowed + "."
	}
	return text
}

func listOf(items jsonObject, nonEmpty bool) jsonObject {
	o := jsonObject{{"type", "array"}, {"items", items}}
	if nonEmpty {
		o = append(o, member{"minItems", 1})
	}
	return o
}

func objectOf(rows []*Setting, inItem bool) jsonObject {
	var properties jsonObject
	var required []string
	for _, s := range withoutRemoved(rows) {
		properties = append(properties, member{s.key, s.jsonSchema(inItem)})
		if s.required && inItem {
			required = append(required, s.key)
		}
	}
	o := jsonObject{{"type", "object"}, {"properties", properties}, {"additionalProperties", false}}
	if len(required) > 0 {
		o = append(o, member{"required", required})
	}
	return o
}

func scalarSchema(s rule.Schema) jsonObject {
	var out jsonObject
	switch {
	case s.Type == "boolean":
		return jsonObject{{"type", s.Type}}
	case len(s.Words) > 0:
		return jsonObject{{"enum", s.Words}}
	case s.Type != "":
		out = jsonObject{{"type", []string{s.Type, "string"}}}
	default:
		out = jsonObject{{"type", "string"}}
	}
	if s.Bounded {
		out = append(out, member{"minimum", s.Least}, member{"maximum", s.Most})
	}
	if s.MaxLength > 0 {
		out = append(out, member{"minLength", 1}, member{"maxLength", s.MaxLength})
	}
	if len(s.Patterns) == 1 {
		return append(out, member{"pattern", s.Patterns[0]})
	}
	var all []jsonObject
	for _, p := range s.Patterns {
		all = append(all, jsonObject{{"pattern", p}})
	}
	if len(all) > 0 {
		out = append(out, member{"allOf", all})
	}
	return out
}

// valueOf returns a formatted value as JSON.
func valueOf(s rule.Schema, text string) any {
	if (s.Type == "integer" || s.Type == "boolean") && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return text
}
