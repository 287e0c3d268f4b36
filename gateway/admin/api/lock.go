package api

import "net/http"

var lockOperations = []Operation{
	{
		Method: http.MethodGet, Path: "/admin/locks", Summary: "The locks of one subscription.",
		Query:  append([]Parameter{{"subscription", "whose locks; needed"}, {"scope", "only those that hold at this ID: on it and above"}}, paging...),
		Answer: Page[Lock]{}, Status: http.StatusOK,
	},
}

// Lock is a lock.
type Lock struct {
	ID    string `json:"id"`
	Scope string `json:"scope"`
	Name  string `json:"name"`
	Level string `json:"level"` // CanNotDelete or ReadOnly
	Notes string `json:"notes,omitempty"`
}
