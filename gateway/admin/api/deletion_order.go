package api

import (
	"net/http"
	"time"
)

var deletionOrderOperations = []Operation{
	{
		Method: http.MethodGet, Path: "/admin/deleteOrder", Summary: "What deletions of groups have learnt about the order of types in a subscription.",
		Query: []Parameter{{"subscription", "in which; needed"}}, Answer: Page[TypeOrder]{}, Status: http.StatusOK,
	},
}

// TypeOrder says that resources of one type go before those of another.
type TypeOrder struct {
	Before string    `json:"before"`
	After  string    `json:"after"`
	Seen   time.Time `json:"seen"`
}
