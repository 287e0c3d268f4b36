package api

import (
	"net/http"
	"time"
)

var statusOperations = []Operation{
	{Method: http.MethodGet, Path: "/admin/status", Summary: "What is wrong, the worst first, and what this gateway is.", Answer: Status{}, Status: http.StatusOK},
}

// Status is what is wrong, and what this gateway is.
type Status struct {
	Version    string    `json:"version"`
	Revision   string    `json:"revision,omitempty"`
	Region     string    `json:"region"`
	Started    time.Time `json:"started"`
	Generation int       `json:"generation"` // of the configuration
	Store      string    `json:"store"`      // sqlite or postgres
	Replicas   int       `json:"replicas"`   // gateways that share the store, this one counted
	// Problems are what is known to be wrong, the worst first.
	Problems []Problem `json:"problems"`
}
