package api

import (
	"encoding/json"
	"net/http"

	"portico/events"
)

var changeOperations = []Operation{
	{
		Method: http.MethodGet, Path: "/admin/changes",
		Summary: "The changes, in the order of their recording, or the history of one ID, the newest first. With Accept: text/event-stream it is a " +
			"stream of server-sent events.",
		Query: []Parameter{
			{"after", "the token after which it begins, or latest; by default the first event that is kept"},
			{"last", "begins so many events before the newest one; goes without after"},
			{"limit", "how many a page has at most: 1 to 1000"},
			{"wait", "how long to wait for an event if there is none: 0s to 1m"},
			{"type", "only events of these types; may be given several times"},
			{"subscription", "only those of this subscription"},
			{"resource", "the history of this ID; goes with limit and after alone"},
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
