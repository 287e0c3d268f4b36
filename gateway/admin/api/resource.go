package api

import (
	"net/http"
	"time"
)

var resourceOperations = []Operation{
	{
		Method: http.MethodGet, Path: "/admin/resources", Summary: "The rows of the index of one subscription, by ID.",
		Query: append([]Parameter{
			{"subscription", "whose rows; needed"}, {"resourceGroup", "only those of this group"}, {"resourceType", "only those of this type"}, {"region", "only those in this region"},
		}, paging...),
		Answer: Page[Resource]{}, Status: http.StatusOK,
	},
	{
		Method: http.MethodGet, Path: "/admin/resource", Summary: "All that is known of one ID: its row, open writes, fences, jobs, locks, last events.",
		Query:  []Parameter{{"id", "the resource's ID; needed"}},
		Answer: ResourceDetail{}, Status: http.StatusOK,
	},
}

// Resource is a row of the index.
type Resource struct {
	ID     string `json:"id"`
	Type   string `json:"type"`
	Region string `json:"region"`
	// Phase is that of the row, such as Accepted or Deleting.
	Phase   string     `json:"phase"`
	Flags   []string   `json:"flags"` // what the index is not sure of: verify, followPut, followDelete
	Created *time.Time `json:"created,omitempty"`
	Changed *time.Time `json:"changed,omitempty"`
}

// ResourceDetail is all that is known of one ID.
type ResourceDetail struct {
	ID string `json:"id"`
	// Row is nil where the index has none.
	Row *Resource `json:"row,omitempty"`
	// Waiting says what the index waits for.
	Waiting []Waiting `json:"waiting"`
	Fences  []Fence   `json:"fences"`
	Locks   []Lock    `json:"locks"`
	// Events are the last ones, the newest first.
	Events []ResourceEvent `json:"events"`
}

// Waiting is a write, an operation or a verification that is under way.
type Waiting struct {
	Reason  string `json:"reason"` // as GET /admin/doubts has them
	Message string `json:"message"`
	Kind    string `json:"kind,omitempty"`   // of the write
	Region  string `json:"region,omitempty"` // of the write
	// Job is the one that works on it.
	Job         string     `json:"job,omitempty"`
	Attempts    int64      `json:"attempts,omitempty"`
	LastOutcome string     `json:"lastOutcome,omitempty"`
	Since       time.Time  `json:"since"`
	Until       *time.Time `json:"until,omitempty"`
	Next        *time.Time `json:"next,omitempty"`
}

// Fence keeps an ID from being made anew while a write without an answer may land there.
type Fence struct {
	ID           string    `json:"id"`
	Subscription string    `json:"subscription"`
	Region       string    `json:"region"`
	Kind         string    `json:"kind"`
	Reason       string    `json:"reason"`
	Since        time.Time `json:"since"`
	Until        time.Time `json:"until"`
}

// ResourceEvent is one change of a resource.
type ResourceEvent struct {
	Time          time.Time `json:"time"`
	Action        string    `json:"action"`
	Status        string    `json:"status"`
	Caller        string    `json:"caller,omitempty"` // the object ID of who asked, or what of Portico did it
	CorrelationID string    `json:"correlationId,omitempty"`
}
