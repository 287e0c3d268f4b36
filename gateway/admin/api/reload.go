package api

import "net/http"

var reloadOperations = []Operation{
	{Method: http.MethodPost, Path: "/admin/reload", Summary: "Reads the configuration again. One with a fault changes nothing; the error has a detail for each fault.", Answer: Reloaded{}, Status: http.StatusOK},
}

// Reloaded describes a configuration that was loaded.
type Reloaded struct {
	Generation int64 `json:"generation"` // the first is 1
	// NeedsRestart are the settings that differ from what the gateway was started with, but
	// cannot change while it runs: they stay as they were.
	NeedsRestart []string `json:"needsRestart,omitempty"`
}
