package api

import (
	_ "embed" // the document
	"encoding/json"
	"net/http"
)

var documentOperations = []Operation{
	{Method: http.MethodGet, Path: "/admin/openapi.json", Summary: "This description.", Answer: Document{}, Status: http.StatusOK},
}

// Document is a description of all operations, in OpenAPI 3.0.
type Document struct{ json.RawMessage }

// Described is any JSON object.
func (Document) Described() any { return map[string]any{} }

//go:embed openapi.json
var document []byte

// OpenAPI returns the description of all operations. A test makes it of [Operations]:
// go test ./gateway/admin/api -update
func OpenAPI() Document { return Document{document} }
