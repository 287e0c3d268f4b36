package api

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write openapi.json, and the table of operations in docs/admin.md, anew")

type object = map[string]any

// The document is made of the operations; what is served is what is made.
func TestOpenAPIDescribesTheOperations(t *testing.T) {
	created := describe(t, Operations())
	if *update {
		if err := os.WriteFile("openapi.json", created, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(created, document) {
		t.Error("openapi.json is out of date: go test ./gateway/admin/api -update")
	}
	if served, err := json.Marshal(OpenAPI()); err != nil || !json.Valid(served) {
		t.Error(err)
	}
}

// Another operation is another document.
func TestOpenAPINoticesAnOperation(t *testing.T) {
	more := append(Operations(), Operation{Method: http.MethodGet, Path: "/admin/more", Summary: "More.", Answer: Nothing{}, Status: http.StatusOK})
	if bytes.Equal(describe(t, more), document) || bytes.Equal(describe(t, Operations()[1:]), document) {
		t.Error("the document is the same")
	}
}

// describe makes the document.
func describe(t *testing.T, operations []Operation) []byte {
	t.Helper()
	d := &describer{t: t, comments: readComments(t), schemas: object{}}
	paths := object{}
	for _, o := range operations {
		methods, _ := paths[o.Path].(object)
		if methods == nil {
			methods = object{}
			paths[o.Path] = methods
		}
		methods[strings.ToLower(o.Method)] = d.operation(o)
	}
	text, err := json.MarshalIndent(object{
		"openapi": "3.0.3",
		"info": object{
			"title": "Portico's admin listener", "version": "1",
			"description": "What operators see and change. The listener also has /healthz, /readyz, /metrics and /debug/pprof/, which are none of JSON.",
		},
		"servers":  []object{{"url": "http://127.0.0.1:8081"}},
		"security": []object{{"token": []string{}}, {}},
		"paths":    paths,
		"components": object{
			"schemas":         d.schemas,
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer", "description": "One of server.adminTokens. Where none is configured, none is asked for."}},
		},
	}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}

var variable = regexp.MustCompile(`\{(\w+)\}`)

func (d *describer) operation(o Operation) object {
	d.t.Helper()
	if !strings.HasSuffix(o.Summary, ".") || o.Answer == nil || o.Status == 0 {
		d.t.Errorf("%s %s is not described in full", o.Method, o.Path)
	}
	parameters := []object{}
	for _, name := range variable.FindAllStringSubmatch(o.Path, -1) {
		parameters = append(parameters, object{"name": name[1], "in": "path", "required": true, "schema": object{"type": "string"}})
	}
	for _, p := range o.Query {
		summary, needed := strings.CutSuffix(p.Summary, "; required")
		parameters = append(parameters, object{"name": p.Name, "in": "query", "required": needed, "description": summary, "schema": parameterSchema(p.Name)})
	}
	answer := object{"application/json": object{"schema": d.answer(o.Answer)}}
	if o.Streams {
		answer["text/event-stream"] = object{"schema": object{"type": "string"}}
	}
	responses := object{
		strconv.Itoa(o.Status): object{"description": http.StatusText(o.Status), "content": answer},
		"default":              object{"description": "An error, as ARM has them", "content": object{"application/json": object{"schema": d.answer(failure{})}}},
	}
	if o.Creates {
		responses["201"] = object{"description": "Created", "content": answer}
	}
	described := object{"operationId": operationID(o), "summary": o.Summary, "parameters": parameters, "responses": responses}
	if o.Content != nil {
		described["requestBody"] = object{"content": object{"application/json": object{"schema": d.content(o.Content)}}}
	}
	return described
}

func parameterSchema(name string) object {
	if name == "limit" {
		return object{"type": "integer", "minimum": 1, "maximum": 1000, "default": 100}
	}
	return object{"type": "string"}
}

// operationID is made of the method and the path.
func operationID(o Operation) string {
	id := strings.ToLower(o.Method)
	for _, word := range regexp.MustCompile(`\w+`).FindAllString(strings.TrimPrefix(o.Path, "/admin/"), -1) {
		id += strings.ToUpper(word[:1]) + word[1:]
	}
	return id
}
