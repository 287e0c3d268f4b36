// Package api describes the admin listener: the operations that it has, and the JSON that
// they take and answer. The listener's handlers, its OpenAPI document, the commands of
// cmd/portico and the console all follow this one description.
//
// A file per resource holds its operations and its values. The values are plain: they
// import nothing of the gateway. [Client] calls the operations of a running gateway; the
// commands use it.
package api

import (
	_ "embed" // the document
	"encoding/json"
	"net/http"
	"slices"
)

// Operation is one operation of the admin listener.
type Operation struct {
	Method string
	Path   string // with {names} for its variable segments
	// Summary says in one sentence what it does.
	Summary string
	// Query are the parameters that the query may have.
	Query []Parameter
	// Content is a value of the type that the request carries; nil: it carries nothing.
	Content any
	// Answer is a value of the type that a successful request is answered with.
	Answer any
	// Status is that of a successful answer.
	Status int
	// Creates: it answers 201 instead if it has created something.
	Creates bool
	// Streams: it answers with server-sent events if a request accepts those.
	Streams bool
}

// Parameter is a parameter of a query. The summary of one that every request has to have
// ends in "; needed".
type Parameter struct{ Name, Summary string }

// Operations returns all operations of the listener below /admin/.
func Operations() []Operation {
	return slices.Concat(
		statusOperations, regionOperations, retirementOperations, providerOperations, subscriptionOperations, resourceOperations,
		jobOperations, deploymentOperations, doubtOperations, fenceOperations, lockOperations, roleOperations, sweepOperations, deletionOrderOperations,
		changeOperations, sinkOperations, reloadOperations, unstickOperations, consoleOperations, explainOperations, documentOperations,
	)
}

// Page is one page of a list.
type Page[T any] struct {
	Value []T `json:"value"`
	// NextLink is the path of the next page; empty: this is the last one.
	NextLink string `json:"nextLink,omitempty"`
}

// Parameters of every list that has pages.
var paging = []Parameter{{"limit", "how many a page has at most: 1 to 1000"}, {"after", "where the page begins, as a nextLink says it"}}

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
