package install

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"portico/provider/certify/contract"
	"portico/provider/certify/sample"
	"portico/test/harness"
)

// schemas draws schemas that values can fit.
type schemas struct {
	*rand.Rand
	shared map[string]any // the components that were drawn
}

type jsonObject = map[string]any

func (g *schemas) schema(depth int) jsonObject {
	kinds := []func(int) jsonObject{g.text, g.number, g.text, g.number, g.boolean}
	if depth > 0 {
		kinds = append(kinds, g.object, g.array, g.reference, g.heir, g.choice)
	}
	return kinds[g.IntN(len(kinds))](depth)
}

func (g *schemas) boolean(int) jsonObject { return jsonObject{"type": "boolean"} }

func (g *schemas) text(int) jsonObject {
	s := jsonObject{"type": "string"}
	switch g.IntN(6) {
	case 0:
		s["enum"] = []any{"one", "two", "three"}[:1+g.IntN(3)]
	case 1:
		s["format"] = []string{"uuid", "date-time", "date", "ipv4", "ipv6", "email", "byte", "uri"}[g.IntN(8)]
	case 2:
		s["minLength"] = g.IntN(40)
		s["maxLength"] = s["minLength"].(int) + g.IntN(3)
	case 3:
		s["pattern"] = []string{`^[a-z]{3,24}$`, `^[A-Z]{2}[0-9]{4}$`, `^\d+\.\d+$`, `^[a-z](-?[a-z0-9])*$`, `^(on|off)$`, `^[^a-z]+$`, `^\w+@\w+$`}[g.IntN(7)]
	case 4:
		s["pattern"], s["minLength"], s["maxLength"] = `^[a-z][a-z0-9-]*[a-z]$`, 5+g.IntN(20), 30
	}
	return s
}

func (g *schemas) number(int) jsonObject {
	s := jsonObject{"type": []string{"integer", "number"}[g.IntN(2)]}
	least := g.IntN(2000) - 1000
	if g.IntN(2) == 0 {
		s["minimum"] = least
		s["exclusiveMinimum"] = g.IntN(2) == 0
	}
	if g.IntN(2) == 0 {
		s["maximum"] = least + 2 + g.IntN(30)
		s["exclusiveMaximum"] = g.IntN(2) == 0
	}
	if g.IntN(4) == 0 && (s["minimum"] == nil || s["maximum"] == nil) {
		s["multipleOf"] = 1 + g.IntN(7)
	}
	return s
}

func (g *schemas) object(depth int) jsonObject {
	properties, required := jsonObject{}, []string{}
	for i := range 1 + g.IntN(4) {
		name := fmt.Sprintf("member%d", i)
		properties[name] = g.schema(depth - 1)
		if g.IntN(2) == 0 {
			required = append(required, name)
		}
	}
	s := jsonObject{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	if g.IntN(4) == 0 {
		s = jsonObject{"type": "object", "additionalProperties": g.schema(depth - 1), "minProperties": g.IntN(3)}
	}
	return s
}

func (g *schemas) array(depth int) jsonObject {
	least := g.IntN(3)
	return jsonObject{"type": "array", "items": g.schema(depth - 1), "minItems": least, "maxItems": least + g.IntN(2)}
}

func (g *schemas) share(s jsonObject) jsonObject {
	name := fmt.Sprintf("Shared%d", len(g.shared))
	g.shared[name] = s
	return jsonObject{"$ref": "#/components/schemas/" + name}
}

func (g *schemas) reference(depth int) jsonObject { return g.share(g.schema(depth - 1)) }

func (g *schemas) heir(depth int) jsonObject {
	open := func(prefix string) jsonObject {
		return jsonObject{"type": "object", "required": []string{prefix}, "properties": jsonObject{prefix: g.schema(depth - 1), prefix + "2": g.schema(depth - 1)}}
	}
	s := open("own")
	s["allOf"] = []any{g.share(open("inherited")), open("further")}
	return s
}

func (g *schemas) choice(depth int) jsonObject {
	kind := func(values ...any) jsonObject {
		return jsonObject{"type": "object", "required": []string{"kind", "value"}, "properties": jsonObject{"kind": jsonObject{"type": "string", "enum": values}, "value": g.schema(depth - 1)}}
	}
	one, two := g.share(kind("one", "1")), g.share(kind("two"))
	return jsonObject{"oneOf": []any{one, two}, "discriminator": jsonObject{"propertyName": "kind", "mapping": jsonObject{"1": one["$ref"], "one": one["$ref"], "two": two["$ref"]}}}
}

// What is made for a schema fits it, before the update and after: a library that others use
// says so.
func TestSamplesFitTheirSchemas(t *testing.T) {
	const path = "/subscriptions/{s}/resourceGroups/{g}/providers/A.B/things/{n}"
	updates := 0
	for seed := range uint64(500) {
		g := &schemas{rand.New(rand.NewPCG(seed, 1)), jsonObject{}}
		body := jsonObject{
			"type": "object", "required": []string{"location", "properties"}, "additionalProperties": false,
			"properties": jsonObject{"location": jsonObject{"type": "string"}, "properties": g.object(4)},
		}
		document := jsonObject{
			"openapi": "3.0.3", "info": jsonObject{"title": "things", "version": "1"},
			"paths": jsonObject{path: jsonObject{"put": jsonObject{
				"parameters": []any{
					jsonObject{"name": "s", "in": "path", "required": true, "schema": jsonObject{"type": "string"}},
					jsonObject{"name": "g", "in": "path", "required": true, "schema": jsonObject{"type": "string"}},
					jsonObject{"name": "n", "in": "path", "required": true, "schema": jsonObject{"type": "string"}},
				},
				"requestBody": jsonObject{"content": jsonObject{"application/json": jsonObject{"schema": body}}},
				"responses":   jsonObject{"200": jsonObject{"description": "OK"}},
			}}},
			"components": jsonObject{"schemas": g.shared},
		}
		text, err := json.MarshalIndent(document, "", " ")
		harness.OK(t, err)
		file := filepath.Join(t.TempDir(), "things.json")
		harness.OK(t, os.WriteFile(file, text, 0o600))
		if fits(t, file, "A.B/things") {
			updates++
		}
		if t.Failed() {
			t.Fatalf("the document of seed %d: %s", seed, text)
		}
	}
	t.Logf("%d of 500 have an update", updates)
	if updates < 250 {
		t.Errorf("only %d have an update", updates)
	}
	if !fits(t, "../../provider/certify/sample/testdata/bolts.yaml", "Acme.Bolts/bolts") {
		t.Error("there is no update of a bolt")
	}
}

// fits checks what is made for a type, and reports whether there is an update.
func fits(t *testing.T, file, typeName string) (updated bool) {
	t.Helper()
	samples, err := sample.Bodies([]string{file}, []string{typeName})
	if err != nil {
		t.Errorf("no body is made: %v", err)
		return false
	}
	document, err := openapi3.NewLoader().LoadFromFile(file)
	harness.OK(t, err)
	var schema *openapi3.Schema
	for path, item := range document.Paths.Map() {
		if strings.Contains(path, "/resourceGroups/") {
			schema = item.Put.RequestBody.Value.Content["application/json"].Schema.Value
		}
	}
	made := samples[typeName]
	before := located(t, made.Create)
	if err := schema.VisitJSON(before, openapi3.VisitAsRequest(), openapi3.EnableFormatValidation()); err != nil {
		t.Errorf("the body %s does not fit: %v", show(before), err)
	}
	if made.Update == nil {
		return false
	}
	after := located(t, patched(made.Create, made.Update))
	if err := schema.VisitJSON(after, openapi3.VisitAsRequest(), openapi3.EnableFormatValidation()); err != nil {
		t.Errorf("after the update the body %s does not fit: %v", show(after), err)
	}
	if show(before) == show(after) {
		t.Errorf("the update %s changes nothing of %s", show(made.Update), show(before))
	}
	return true
}

// located is a body as JSON decodes it, with a location where the suite adds one.
func located(t *testing.T, body contract.Object) (decoded jsonObject) {
	t.Helper()
	harness.OK(t, json.Unmarshal([]byte(show(body)), &decoded))
	if !slices.Contains(slices.Collect(maps.Keys(decoded)), "location") {
		decoded["location"] = "westus"
	}
	return decoded
}

// patched applies a merge-patch.
func patched(target, patch any) contract.Object {
	merged := jsonObject{}
	if t, ok := target.(jsonObject); ok {
		maps.Copy(merged, t)
	}
	for name, value := range patch.(jsonObject) {
		if inner, ok := value.(jsonObject); ok {
			value = patched(merged[name], inner)
		}
		merged[name] = value
	}
	return merged
}

func show(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
