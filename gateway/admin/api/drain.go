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
		Method: http.MethodPost, Path: "/admin/drains/end", Summary: "Ends a maintenance before its time.",
		Content: DrainEnd{}, Answer: Drain{}, Status: http.StatusOK,
	},
}

// Drain is the maintenance of a region or of an address: nothing new is created in the region,
// and an address gets no new calls if another one can take them.
type Drain struct {
	Reason string    `json:"reason"`
	By     string    `json:"by,omitempty"` // the name of the operator's token
	Since  time.Time `json:"since"`
	Until  time.Time `json:"until"` // when it ends by itself
}

// DrainOrder is an order to drain either a region or an address, for at most seven days.
type DrainOrder struct {
	Region  string    `json:"region,omitempty"`
	Address string    `json:"address,omitempty"` // such as https://10.0.0.5:8443
	Reason  string    `json:"reason"`
	Until   time.Time `json:"until"`
}

// DrainEnd names the drained region or address.
type DrainEnd struct {
	Region  string `json:"region,omitempty"`
	Address string `json:"address,omitempty"`
}
