// Package api describes the admin listener: its operations, and the JSON of their requests
// and answers. The listener's handlers, its OpenAPI document, the commands of cmd/portico and
// the console all follow this one description.
//
// There is one file per resource, with its operations and types. The types import nothing of
// the gateway. [Client] calls the operations of a running gateway; the commands use it.
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
	// Summary describes it in one sentence.
	Summary string
	// Query are the parameters that the query may have.
	Query []Parameter
	// Content is a value of the type of the request's content; nil if there is none.
	Content any
	// Answer is a value of the type of a successful answer.
	Answer any
	// Status is the status of a successful answer.
	Status int
	// Creates: the status is 201 instead if it has created something.
	Creates bool
	// Streams: it answers with server-sent events if a request accepts those.
	Streams bool
}

// Parameter is a parameter of a query. The summary of a required one ends in "; required".
type Parameter struct{ Name, Summary string }

// Operations returns all operations of the listener below /admin/.
func Operations() []Operation {
	return slices.Concat(
		statusOperations, regionOperations, drainOperations, retirementOperations, providerOperations, subscriptionOperations, resourceOperations,
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
var paging = []Parameter{{"limit", "maximum number of items in a page: 1 to 1000"}, {"after", "where the page begins; taken from a nextLink"}}

var documentOperations = []Operation{
	{Method: http.MethodGet, Path: "/admin/openapi.json", Summary: "This description.", Answer: Document{}, Status: http.StatusOK},
}

// Document is a description of all operations, in OpenAPI 3.0.
type Document struct{ json.RawMessage }

// Described returns the type of any JSON object.
func (Document) Described() any { return map[string]any{} }

//go:embed openapi.json
var document []byte

// OpenAPI returns the description of all operations. A test generates it from [Operations]:
// go test ./gateway/admin/api -update
func OpenAPI() Document { return Document{document} }
