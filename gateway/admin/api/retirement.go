package api

import "net/http"

var retirementOperations = []Operation{
	{
		Method: http.MethodPost, Path: "/admin/regions/{region}/retire",
		Summary: "Forgets a region that the map no longer has. If a call was interrupted, another one forgets the rest.",
		Content: Retire{}, Answer: Retirement{}, Status: http.StatusOK,
	},
}

// Retire is an order to forget a region.
type Retire struct {
	DryRun bool `json:"dryRun,omitempty"` // only count
}

// Retirement counts the index's records of a region in all subscriptions: the existing ones in
// a dry run, otherwise the forgotten ones.
type Retirement struct {
	Region         string `json:"region"`
	DryRun         bool   `json:"dryRun,omitempty"`
	InMap          bool   `json:"inMap,omitempty"` // the map still has it, so that only a dry run is answered
	Rows           int    `json:"rows"`
	Intents        int    `json:"intents"`        // writes whose outcome is unknown
	WrittenRegions int    `json:"writtenRegions"` // collections that are listed before the deletion of a group ends
	Coverage       int    `json:"coverage"`
	Notices        int    `json:"notices"`
	Strays         int    `json:"strays"`
	Fences         int    `json:"fences"`
	Operations     int    `json:"operations"` // polling URLs
	// Moving are IDs that a move has under way. They stay until it ends, or is cancelled.
	Moving int `json:"moving,omitempty"`
	// Groups are the groups whose deletion waits for the region.
	Groups WaitingGroups `json:"groups"`
}

// WaitingGroups are groups whose deletion waits.
type WaitingGroups struct {
	Count int      `json:"count"`
	IDs   []string `json:"ids,omitempty"` // the first 100
}
