package schema

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// shapeOf is the shape of a resource whose properties have a schema.
func shapeOf(t testing.TB, properties string) (*Shape, error) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "things.json")
	text := `{"swagger": "2.0", "paths": {"/subscriptions/{s}/resourceGroups/{g}/providers/A.B/things/{n}": {"put": {"parameters": [{"name": "body", "in": "body", "schema": {"$ref": "#/definitions/Thing"}}]}}},
		"definitions": {
			"Thing": {"allOf": [{"$ref": "../common-types/v9/types.json#/definitions/TrackedResource"}], "properties": {"properties": ` + properties + `, "identity": {"$ref": "../common-types/v9/types.json#/definitions/Identity"}}},
			"Node": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "next": {"$ref": "#/definitions/Node"}}},
			"Pet": {"type": "object", "discriminator": "kind", "required": ["kind"], "properties": {"kind": {"type": "string"}, "name": {"type": "string"}}},
			"Cat": {"x-ms-discriminator-value": "cat", "allOf": [{"$ref": "#/definitions/Pet"}], "required": ["lives"], "properties": {"lives": {"type": "integer", "maximum": 9}}},
			"Lion": {"allOf": [{"$ref": "#/definitions/Cat"}], "required": ["pride"], "properties": {"pride": {"type": "string"}}},
			"Self": {"oneOf": [{"$ref": "#/definitions/Self"}]}
		}}`
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	l := Library{}
	d, err := l.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	body, err := l.Body(d.Put("A.B/things"))
	if err != nil {
		t.Fatal(err)
	}
	return l.Shape(body)
}

func TestCheck(t *testing.T) {
	const p = "properties"
	for _, c := range []struct{ schema, value, path, allowed string }{
		{`{"type": "string"}`, `"a"`, "", ""},
		{`{"type": "string"}`, `1`, p, "a string must stand here"},
		{`{"type": "string"}`, `null`, p, "null cannot stand here: a string must"},
		{`{"type": "string", "x-nullable": true}`, `null`, "", ""},
		{`{"type": ["string", "null"]}`, `null`, "", ""},
		{`{"type": "string", "minLength": 2, "maxLength": 3}`, `"é"`, p, "it must have at least 2 characters"},
		{`{"type": "string", "minLength": 2, "maxLength": 3}`, `"\u00e9\u00e9\u00e9\u00e9"`, p, "it must have at most 3 characters"},
		{`{"type": "string", "pattern": "^[a-z]+$"}`, `"A"`, p, "it must match the pattern ^[a-z]+$"},
		{`{"type": "string", "pattern": "^(?!x)y$"}`, `"A"`, "", ""},
		{`{"type": "string", "enum": ["a", "b"]}`, `"c"`, p, "one of 'a', 'b' must stand here"},
		{`{"type": "string", "enum": ["a", "b"], "x-ms-enum": {"modelAsString": true}}`, `"c"`, "", ""},
		{`{"type": "string", "enum": ["a"], "x-ms-enum": {"modelAsString": true}}`, `1`, p, "one of 'a' must stand here"},
		{`{"const": 3}`, `3.0`, "", ""},
		{`{"const": 3}`, `{}`, p, "one of '3' must stand here"},
		{`{"type": "integer"}`, `1.0`, "", ""},
		{`{"type": "integer"}`, `1.5`, p, "an integer must stand here"},
		{`{"type": "number"}`, `1e999`, p, "a number in the range of 64 bits must stand here"},
		{`{"type": "number", "minimum": 1, "exclusiveMinimum": true}`, `1`, p, "it must be greater than 1"},
		{`{"type": "number", "exclusiveMaximum": 2}`, `2`, p, "it must be less than 2"},
		{`{"type": "number", "maximum": 2}`, `2.5`, p, "it must be at most 2"},
		{`{"type": "number", "minimum": -1}`, `-2`, p, "it must be at least -1"},
		{`{"type": "number", "multipleOf": 0.1}`, `0.3`, "", ""},
		{`{"type": "number", "multipleOf": 5}`, `7`, p, "it must be a multiple of 5"},
		{`{"type": "boolean"}`, `"true"`, p, "a boolean must stand here"},
		{`{"type": "boolean"}`, `false`, "", ""},
		{`{"type": "file"}`, `{}`, "", ""},
		{`{"type": "object", "additionalProperties": false}`, `{"new": 1}`, "", ""},
		{`{"type": "object"}`, `[]`, p, "an object must stand here"},
		{`{"type": "object", "additionalProperties": {"type": "integer"}}`, `{"a": 1, "b": "c"}`, p + ".b", "an integer must stand here"},
		{`{"required": ["a", "b"]}`, `{"b": null}`, p + ".a", "the member is required"},
		{`{"required": ["a"], "properties": {"a": {"type": "string"}}}`, `{"a": null}`, p + ".a", "null cannot stand here"},
		{`{"required": ["a"], "properties": {"a": {"type": "string", "readOnly": true}}}`, `{}`, "", ""},
		{`{"required": ["a"], "properties": {"a": {"type": "string", "readOnly": true}}}`, `{"a": 1}`, "", ""},
		{`{"properties": {"a": {"$ref": "#/definitions/Node", "readOnly": true}, "b": {"$ref": "#/definitions/Node", "x-nullable": true}}}`, `{"a": 1, "b": null}`, "", ""},
		{`{"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2}`, `[1, "a"]`, p + "[1]", "an integer must stand here"},
		{`{"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2}`, `[]`, p, "it must have at least 1 items"},
		{`{"type": "array", "maxItems": 2}`, `[1, "a", {}]`, p, "it must have at most 2 items"},
		{`{"type": "array", "items": {"required": ["x"]}}`, `[{"x": 1}, {}]`, p + "[1].x", "the member is required"},
		{`{"type": "array"}`, `{}`, p, "an array must stand here"},
		{`{"$ref": "#/definitions/Node"}`, `{"name": "a", "next": {"name": "b", "next": {"next": {}}}}`, p + ".next.next.next.name", "the member is required"},
		{`{"allOf": [{"$ref": "#/definitions/Node"}], "required": ["more"]}`, `{"name": "a"}`, p + ".more", "the member is required"},
		{`{"$ref": "#/definitions/Pet"}`, `{"lives": 10, "kind": "cat"}`, p + ".lives", "it must be at most 9"},
		{`{"$ref": "#/definitions/Pet"}`, `{"kind": "Lion", "lives": 1}`, p + ".pride", "the member is required"},
		{`{"$ref": "#/definitions/Pet"}`, `{"kind": "dog", "lives": "many"}`, "", ""},
		{`{"$ref": "#/definitions/Pet"}`, `{"kind": "dog", "name": 1}`, p + ".name", "a string must stand here"},
		{`{"$ref": "#/definitions/Pet"}`, `{"name": "x"}`, p + ".kind", "the member is required"},
		{`{"oneOf": [{"type": "string"}, {"type": "object", "properties": {"a": {"type": "string"}}}]}`, `{"a": 1}`, p + ".a", "a string must stand here"},
		{`{"oneOf": [{"type": "string"}, {"type": "integer"}]}`, `true`, p, "it fits none of the 2 forms that it may have: a string must stand here"},
		{`{"anyOf": [{"type": "null"}, {"type": "integer"}]}`, `null`, "", ""},
		{`{"anyOf": [{"type": "string"}, {"type": "string", "enum": ["a"]}]}`, `"b"`, "", ""},
		{`{"type": "string"}`, `"[parameters('a')]"`, "", ""},
	} {
		shape, err := shapeOf(t, c.schema)
		if err != nil {
			t.Errorf("%s: %v", c.schema, err)
			continue
		}
		got := shape.Check([]byte(`{"location": "westus", "properties": `+c.value+`}`), Literal)
		switch {
		case got == nil:
			got = &Fault{}
			fallthrough
		default:
			if got.Path != c.path || !strings.HasPrefix(got.Allowed, c.allowed) || (got.Allowed == "") != (c.allowed == "") {
				t.Errorf("%s: %s: %q at %q, want %q at %q", c.schema, c.value, got.Allowed, got.Path, c.allowed, c.path)
			}
		}
	}
}

// What is not known yet fits any shape.
func TestPlanned(t *testing.T) {
	shape, err := shapeOf(t, `{"required": ["n"], "properties": {"n": {"type": "integer"}, "o": {"type": "object", "required": ["x"]}, "l": {"type": "array", "items": {"type": "boolean"}}}}`)
	if err != nil {
		t.Fatal(err)
	}
	for body, path := range map[string]string{
		`{"properties": {"n": "[reference('x').n]", "o": "[o]", "l": ["[l]", "\u005bm]"]}}`: "",
		`{"properties": {"n": "[[reference('x').n]"}}`:                                      "properties.n",
		`{"properties": {"n": "[open"}}`:                                                    "properties.n",
		`{"properties": "[all]"}`:                                                           "",
	} {
		got := ""
		if fault := shape.Check([]byte(body), Planned); fault != nil {
			got = fault.Path
		}
		if got != path {
			t.Errorf("%s: a fault at %q, want %q", body, got, path)
		}
	}
	if fault := shape.Check([]byte(`{"properties": {"n": "[1]"}}`), Literal); fault == nil || fault.Path != "properties.n" {
		t.Errorf("a literal: %v", fault)
	}
}

func TestUnreadableSchemas(t *testing.T) {
	for schema, want := range map[string]string{
		`{"properties": {"a": {"items": {"$ref": "#/definitions/Absent"}}}}`: `properties.a[]: the reference "#/definitions/Absent": it leads to no object`,
		`{"$ref": "#/definitions/Self"}`:                                     "properties: more than 24 schemas",
	} {
		if _, err := shapeOf(t, schema); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", schema, err)
		}
	}
}

// A body that asks for many looks is passed rather than read for long.
func TestCheckIsBounded(t *testing.T) {
	shape, err := shapeOf(t, `{"oneOf": [{"$ref": "#/definitions/Node"}, {"$ref": "#/definitions/Node"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	deep := strings.Repeat(`{"name": "a", "next": `, 400) + `{"pad": "` + strings.Repeat("x", 1<<20) + `"}` + strings.Repeat("}", 400)
	if fault := shape.Check([]byte(`{"properties": `+deep+`}`), Literal); fault != nil {
		t.Errorf("%.200s", fault)
	}
}

// BenchmarkCheck checks a body of 2 KiB.
func BenchmarkCheck(b *testing.B) {
	shape, err := shapeOf(b, `{"type": "object", "required": ["size", "disks", "pet"], "properties": {
		"size": {"type": "string", "enum": ["small", "large"]}, "pet": {"$ref": "#/definitions/Pet"}, "tree": {"$ref": "#/definitions/Node"},
		"disks": {"type": "array", "items": {"type": "object", "required": ["name"], "properties": {
			"name": {"type": "string", "pattern": "^[a-z][a-z0-9-]{1,62}$"}, "gib": {"type": "integer", "minimum": 1, "maximum": 32768}, "encrypted": {"type": "boolean"}}}}}}`)
	if err != nil {
		b.Fatal(err)
	}
	var disks []string
	for i := range 24 {
		disks = append(disks, fmt.Sprintf(`{"name": "disk-number-%d", "gib": %d, "encrypted": true, "label": "of the owner"}`, i, 10*i+1))
	}
	body := []byte(`{"location": "westus", "tags": {"a": "b"}, "properties": {"size": "small", "pet": {"kind": "cat", "lives": 9}, "tree": {"name": "a", "next": {"name": "b"}}, "disks": [` + strings.Join(disks, ", ") + `]}}`)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if fault := shape.Check(body, Literal); fault != nil {
			b.Fatal(fault)
		}
	}
}
