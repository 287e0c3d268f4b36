package api

import (
	"net/http"
	"time"
)

var fenceOperations = []Operation{
	{Method: http.MethodGet, Path: "/admin/fences", Summary: "The fences of all subscriptions.", Query: paging, Answer: Page[Fence]{}, Status: http.StatusOK},
}

// Fence keeps an ID from being made anew while a write without an answer may land there.
type Fence struct {
	ID           string    `json:"id"` // of the resource
	Subscription string    `json:"subscription"`
	Region       string    `json:"region"`
	Kind         string    `json:"kind"` // of the write without an answer
	Reason       string    `json:"reason"`
	Since        time.Time `json:"since"`
	Until        time.Time `json:"until"`
}
