package sample

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"portico/internal/schema"
)

func TestBodies(t *testing.T) {
	types := []string{"Acme.Stuff/widgets", "acme.stuff/Widgets/PARTS", "Acme.Bolts/bolts", "Acme.Stuff/absent"}
	samples, err := Bodies([]string{"testdata/acme.json", "testdata/bolts.yaml"}, types)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][2]string{
		"Acme.Stuff/widgets": {`{
			"sku": {"name": "Standard", "capacity": 3},
			"properties": {"size": "small", "owner": "Ada", "key": "Sample-Passw0rd-1",
				"network": {"kind": "Public", "prefix": "sample", "zones": ["1", "2"], "ports": []}}}`,
			`{"properties": {"network": {"prefix": "sample2"}}}`},
		"acme.stuff/Widgets/PARTS": {`{"properties": {"count": 10}}`, `{"properties": {"count": 15}}`},
		"Acme.Bolts/bolts": {`{"properties": {
			"id": "00000000-0000-4000-8000-000000000001", "made": "2026-02-03", "address": "192.0.2.1", "link": "https://example.com/a",
			"mode": "automatic", "length": 12.5, "weight": 0.5, "limits": {"key0": -4}, "head": {"shape": "hex", "width": 3}}}`,
			`{"properties": {"head": {"width": 4}}}`},
	} {
		if got := samples[name]; !reflect.DeepEqual(got, Sample{object(t, want[0]), object(t, want[1])}) {
			t.Errorf("%s: created with %s\nupdated with %s", name, text(t, got.Create), text(t, got.Update))
		}
	}
	if _, sampled := samples["Acme.Stuff/absent"]; sampled || len(samples) != 3 {
		t.Errorf("%d samples", len(samples))
	}
}

func object(t *testing.T, text string) (o map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err, text)
	}
	return o
}

func text(t *testing.T, v any) string {
	t.Helper()
	sampled, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(sampled)
}

// things writes a document whose type A.B/things has these properties, and returns its
// file.
func things(t *testing.T, properties string) string {
	t.Helper()
	return file(t, `{"swagger": "2.0", "paths": {"/subscriptions/{s}/resourceGroups/{g}/providers/A.B/things/{n}": {"put": {"parameters": [
		{"$ref": "../common/absent.json#/parameters/ApiVersion"},
		{"name": "body", "in": "body", "schema": {"$ref": "#/definitions/Thing"}}]}}},
		"definitions": {"Thing": {"allOf": [{"$ref": "../../common-types/v9/absent.json#/definitions/TrackedResource"}], "properties": {"properties": `+properties+`}},
		"Loop": {"type": "object", "required": ["next"], "properties": {"next": {"$ref": "#/definitions/Loop"}}},
		"Self": {"$ref": "#/definitions/Self"}, "Heir": {"allOf": [{"$ref": "#/definitions/Heir"}]}}}`)
}

func file(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "things.json")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// Members that a body may not have, or need not, and what changes.
func TestMembers(t *testing.T) {
	for _, row := range []struct{ what, properties, create, update string }{
		{"nothing", `{"type": "object"}`, `{}`, `null`},
		{"an optional member is added for the change", `{"properties": {"a": {"type": "string"}}}`, `{"a": "sample"}`, `{"a": "sample2"}`},
		{"one that is required is changed first", `{"required": ["z"], "properties": {"a": {"type": "boolean"}, "z": {"type": "boolean"}}}`, `{"z": false}`, `{"z": true}`},
		{"a format is changed last", `{"required": ["a"], "properties": {"a": {"type": "string", "format": "uri"}, "b": {"type": "boolean"}}}`, `{"a": "https://example.com/a", "b": false}`, `{"b": true}`},
		{"enumerations", `{"properties": {"a": {"enum": ["x", "y", "z"]}}}`, `{"a": "x"}`, `{"a": "y"}`},
		{"an enumeration's default", `{"properties": {"a": {"enum": ["x", "y"], "default": "y"}}}`, `{"a": "y"}`, `{"a": "x"}`},
		{"an enumeration of one", `{"required": ["a"], "properties": {"a": {"enum": ["x"]}}}`, `{"a": "x"}`, `null`},
		{"a default that does not fit", `{"properties": {"a": {"type": "integer", "minimum": 3, "default": 1}}}`, `{"a": 3}`, `{"a": 4}`},
		{"read only", `{"required": ["a"], "properties": {"a": {"type": "string", "readOnly": true}}}`, `{}`, `null`},
		{"not to be created", `{"required": ["a"], "properties": {"a": {"type": "string", "x-ms-mutability": ["read"]}}}`, `{}`, `null`},
		{"not to be updated", `{"required": ["a"], "properties": {"a": {"type": "string", "x-ms-mutability": ["read", "create"]}}}`, `{"a": "sample"}`, `null`},
		{"secrets", `{"required": ["a"], "properties": {"a": {"type": "string", "x-ms-secret": true}}}`, `{"a": "sample"}`, `null`},
		{"undeclared", `{"required": ["a"]}`, `{"a": "sample"}`, `null`},
		{"arrays", `{"required": ["a"], "properties": {"a": {"type": "array", "items": {"type": "string"}, "minItems": 2, "uniqueItems": true}}}`, `{"a": ["sample", "sample2"]}`, `null`},
		{"several types", `{"required": ["a"], "properties": {"a": {"type": ["null", "integer"], "exclusiveMinimum": 5}}}`, `{"a": 6}`, `{"a": 7}`},
		{"the first option that can be had", `{"required": ["a"], "properties": {"a": {"anyOf": [{"type": "null"}, {"type": "string", "format": "arm-id"}, {"const": "x"}]}}}`, `{"a": "x"}`, `null`},
		{"an optional loop", `{"properties": {"a": {"$ref": "#/definitions/Loop"}, "b": {"type": "boolean"}}}`, `{"b": false}`, `{"b": true}`},
		{"an optional reference to nowhere", `{"properties": {"a": {"$ref": "#/definitions/Absent"}, "b": {"type": "boolean"}}}`, `{"b": false}`, `{"b": true}`},
		{"inner objects", `{"required": ["o"], "properties": {"o": {"type": "object", "required": ["id", "n"], "properties": {"id": {"enum": ["i"]}, "n": {"type": "number", "maximum": 0}}}}}`, `{"o": {"id": "i", "n": -1}}`, `{"o": {"n": 0}}`},
		{"an example of an object", `{"example": {"o": {"n": 4}, "l": ["a", 2], "x": "/subscriptions/s"}, "properties": {"x": {"type": "string"}, "o": {"type": "object", "properties": {"n": {"type": "number"}}}, "l": {"type": "array", "items": {"type": "string"}}}}`, `{"o": {"n": 4}, "l": ["a"]}`, `{"o": {"n": 5}}`},
		{"a text beside an example", `{"properties": {"a": {"type": "string", "maxLength": 4, "example": "four"}}}`, `{"a": "four"}`, `{"a": "fou2"}`},
	} {
		samples, err := Bodies([]string{things(t, row.properties)}, []string{"A.B/things"})
		if err != nil {
			t.Errorf("%s: %v", row.what, err)
			continue
		}
		got, want := samples["A.B/things"], object(t, `{"create": {"properties": `+row.create+`}, "update": {"properties": `+row.update+`}}`)
		if row.update == "null" {
			want["update"] = map[string]any(nil)
		}
		if !reflect.DeepEqual(got.Create, want["create"]) || !reflect.DeepEqual(got.Update, want["update"]) {
			t.Errorf("%s: created with %s, updated with %s", row.what, text(t, got.Create), text(t, got.Update))
		}
	}
}

// Each error names the document, the path and the member.
func TestNoBody(t *testing.T) {
	for _, row := range []struct{ what, properties, want string }{
		{"a lookahead", `{"required": ["o"], "properties": {"o": {"required": ["a"], "properties": {"a": {"type": "string", "pattern": "^(?!x)y$"}}}}}`, `properties.o.a: no value was found for the pattern "^(?!x)y$"`},
		{"another resource", `{"required": ["a"], "properties": {"a": {"type": "array", "minItems": 1, "items": {"type": "string", "format": "arm-id"}}}}`, `properties.a[0]: it is the ID of another resource`},
		{"a loop", `{"required": ["a"], "properties": {"a": {"$ref": "#/definitions/Loop"}}}`, `required members are nested deeper than`},
		{"a reference to itself", `{"required": ["a"], "properties": {"a": {"$ref": "#/definitions/Self"}}}`, `properties.a: more than 32 references lead to each other`},
		{"an heir of itself", `{"required": ["a"], "properties": {"a": {"$ref": "#/definitions/Heir"}}}`, `properties.a: more than 24 schemas extend each other`},
		{"nowhere", `{"required": ["a"], "properties": {"a": {"$ref": "#/definitions/Absent"}}}`, `properties.a: the reference "#/definitions/Absent": it leads to no object`},
		{"an absent file", `{"required": ["a"], "properties": {"a": {"$ref": "absent.json#/a"}}}`, `properties.a: the reference "absent.json#/a": there is no such file`},
		{"another host", `{"required": ["a"], "properties": {"a": {"$ref": "https://example.com/a.json#/a"}}}`, `only files are read`},
		{"impossible bounds", `{"required": ["a"], "properties": {"a": {"type": "integer", "minimum": 2, "maximum": 1}}}`, `properties.a: no value was found within the bounds`},
		{"too much", `{"required": ["a"], "properties": {"a": {"type": "array", "minItems": 1e9, "items": {"type": "string"}}}}`, `properties.a: at least 1000000000 items are required`},
		{"too long", `{"required": ["a"], "properties": {"a": {"type": "string", "minLength": 1e9}}}`, `properties.a: no value was found within the bounds`},
		{"an odd type", `{"required": ["a"], "properties": {"a": {"type": "file"}}}`, `properties.a: the type "file" is not known`},
		{"too few that differ", `{"required": ["a"], "properties": {"a": {"type": "array", "minItems": 3, "uniqueItems": true, "items": {"type": "boolean"}}}}`, `properties.a: 3 different items are required, but only 2 were found`},
	} {
		name := things(t, row.properties)
		_, err := Bodies([]string{name}, []string{"A.B/things"})
		if err == nil || !strings.HasPrefix(err.Error(), name+": PUT /subscriptions/{s}/resourceGroups/{g}/providers/A.B/things/{n}: ") || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want %s", row.what, err, row.want)
		}
	}
	for text, want := range map[string]string{
		`{`:      "unexpected end of JSON",
		"a: [":   "sequence end token",
		"- a":    "it is no object",
		`"text"`: "it is no object",
		`{"paths": {"/providers/A.B/things/{n}": {"put": {}}}}`:                                    "the operation takes no body",
		`{"paths": {"/providers/A.B/things/{n}": {"put": {"requestBody": {"content": {}}}}}}`:      "the body has no schema for JSON",
		`{"paths": {"/providers/A.B/things/{n}": {"put": {"requestBody": {"$ref": "#/absent"}}}}}`: "it leads to no object",
	} {
		if _, err := Bodies([]string{file(t, text)}, []string{"A.B/things"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	if _, err := Bodies([]string{"testdata/absent.json"}, nil); err == nil {
		t.Error("an absent document is no error")
	}
}

func TestPatterns(t *testing.T) {
	for pattern, possible := range map[string]bool{
		`^[a-z]{3,24}$`: true, `^[A-Z]{2}[0-9]{4}$`: true, `^(a|b)(c|d)$`: true, `^\d+\.\d+$`: true, `^v\d(?:\.\d)*$`: true, `x`: true, `^$`: true,
		`^[^a-zA-Z0-9]+$`: true, `^[\w-\.]{1,5}@[a-z]+$`: true, `^(?:[0-9]{1,3}\.){3}[0-9]{1,3}$`: true, `^/subscriptions/[^/]+/x$`: true, `^[ä-ü]{2}$`: true, `^.{2,3}$`: true,
		`^(?!x)y$`: false, `^[b-a]$`: false, `^((((a*)*)*)*)*b\Bc$`: true, `^a$b`: false, `(`: false,
	} {
		s := &schema.Schema{Keywords: map[string]any{"type": "string", "pattern": pattern}}
		values, err := scalars(s, member{"a"}, nil)
		if (err == nil) != possible {
			t.Errorf("%s: %v, %v", pattern, values, err)
		}
	}
	for _, row := range []struct {
		pattern     string
		least, most float64
	}{{`^[a-z]+$`, 40, 50}, {`^[a-z]+-[a-z]+$`, 20, 24}, {`^([a-z]{2})*$`, 10, 10}} {
		s := &schema.Schema{Keywords: map[string]any{"type": "string", "pattern": row.pattern, "minLength": row.least, "maxLength": row.most}}
		if _, err := scalars(s, member{"a"}, nil); err != nil {
			t.Errorf("%s of %v to %v characters: %v", row.pattern, row.least, row.most, err)
		}
	}
}
