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

// Severities of a problem, the worst first.
const (
	Critical = "critical" // requests fail
	Warning  = "warning"  // something waits, or will fail
)

// Problem is something that is wrong.
type Problem struct {
	Severity string `json:"severity"`
	// Code is one of a fixed set, such as regionDown or jobsOverdue.
	Code string `json:"code"`
	// Summary says in one sentence what is wrong.
	Summary string `json:"summary"`
	// Subject is what it is wrong with: a region, an address, an ID. May be empty.
	Subject string     `json:"subject,omitempty"`
	Count   int        `json:"count,omitempty"`
	Since   *time.Time `json:"since,omitempty"`
	// Next is the command that shows more, or mends it.
	Next string `json:"next,omitempty"`
}
