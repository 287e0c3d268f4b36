package api

import (
	"encoding/json"
	"net/http"

	"portico/events"
)

var changeOperations = []Operation{
	{
		Method: http.MethodGet, Path: "/admin/changes",
		Summary: "The changes in the order in which they were recorded, or the history of one ID, newest first. With Accept: text/event-stream, " +
			"a stream of server-sent events.",
		Query: []Parameter{
			{"after", "return events after this token, or latest; default: from the first stored event"},
			{"last", "start this many events before the newest one; cannot be combined with after"},
			{"limit", "maximum number of items in a page: 1 to 1000"},
			{"wait", "how long to wait for a new event: 0s to 1m"},
			{"type", "only events of this type; can be repeated"},
			{"subscription", "only this subscription"},
			{"resource", "the history of this ID; can be combined only with limit and after"},
		},
		Answer: Changes{}, Status: http.StatusOK, Streams: true,
	},
}

// Changes is a page of events.
type Changes struct {
	Value []Change `json:"value"`
	// Next is the token of the next page. A history has none.
	Next string `json:"next,omitempty"`
	// NextLink is the path of the next page of a history; empty: this is the last one.
	NextLink string `json:"nextLink,omitempty"`
}

// Change is an event, as the text of a CloudEvent.
type Change struct{ json.RawMessage }

// Described returns the type of the event in the text.
func (Change) Described() any { return events.CloudEvent{} }
