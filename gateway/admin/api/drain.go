package api

import (
	"net/http"
	"time"
)

var drainOperations = []Operation{
	{
		Method: http.MethodPost, Path: "/admin/drains",
		Summary: "Takes a region or an address out for maintenance, or changes the reason and the end of that.",
		Content: DrainOrder{}, Answer: Drain{}, Status: http.StatusOK,
	},
	{
		Method: http.MethodPost, Path: "/admin/drains/end", Summary: "Ends the maintenance of a region or an address before its time.",
		Content: DrainOrder{}, Answer: Drain{}, Status: http.StatusOK,
	},
}

// Drain is the maintenance of a region, where nothing new is created, or of an address, which is
// called only if no other one of its endpoint can be.
type Drain struct {
	Reason string    `json:"reason"`
	By     string    `json:"by,omitempty"` // the name of the operator's token
	Since  time.Time `json:"since"`
	Until  time.Time `json:"until"` // when it ends by itself
}

// DrainOrder names either a region or an address. Reason and Until are not needed to end a drain.
type DrainOrder struct {
	Region  string    `json:"region,omitempty"`
	Address string    `json:"address,omitempty"` // such as https://10.0.0.5:8443
	Reason  string    `json:"reason,omitempty"`
	Until   time.Time `json:"until,omitzero"` // at most seven days away
}
