package api

import "net/http"

var sweepOperations = []Operation{
	{
		Method: http.MethodPost, Path: "/admin/sweeps", Summary: "Orders a comparison of the index with the providers, or joins one under way that does the same. Location names its job.",
		Content: Sweep{}, Answer: Job{}, Status: http.StatusAccepted,
	},
}

// Sweep is an order of a sweep; an empty one is for everything.
type Sweep struct {
	DryRun       bool   `json:"dryRun,omitempty"`       // only report
	Subscription string `json:"subscription,omitempty"` // only this one
}
