package api

import (
	"net/http"
	"time"
)

var resourceOperations = []Operation{
	{
		Method: http.MethodGet, Path: "/admin/resources", Summary: "The index rows of one subscription, by ID.",
		Query: append([]Parameter{
			{"subscription", "the subscription; required"}, {"resourceGroup", "only this group"}, {"resourceType", "only this type"},
			{"region", "only this region"},
		}, paging...),
		Answer: Page[Resource]{}, Status: http.StatusOK,
	},
	{
		Method: http.MethodGet, Path: "/admin/resource",
		Summary: "Everything known about one ID, which may be a group or a subscription: its row, what it waits for, fences, locks, latest events.",
		Query:   []Parameter{{"id", "the ID of a subscription, or of a group or resource in one; required"}},
		Answer:  ResourceDetail{}, Status: http.StatusOK,
	},
	{
		Method: http.MethodGet, Path: "/admin/why", Summary: "How one thing stands and why: a verdict, what can be done, and what is known, newest first.",
		Query:  []Parameter{{"of", "an ID, a polling URL, a correlation id, or the id of a job; required"}},
		Answer: Why{}, Status: http.StatusOK,
	},
}

// Resource is a row of the index.
type Resource struct {
	ID     string `json:"id"`
	Type   string `json:"type"`
	Region string `json:"region"`
	// Phase is the phase of the row, such as Accepted or Deleting.
	Phase   string     `json:"phase"`
	Flags   []string   `json:"flags"` // the facts that the index is not sure of: verify, followPut, followDelete, followPatch
	Created *time.Time `json:"created,omitempty"`
	Changed *time.Time `json:"changed,omitempty"`
}

// ResourceDetail is all that Portico knows of one ID.
type ResourceDetail struct {
	ID string `json:"id"`
	// Row is nil if the index has none.
	Row *Resource `json:"row,omitempty"`
	// Group and Subscription are present for the ID of one that exists, even of a deleted
	// subscription; the index has no rows for them.
	Group        *ResourceGroup `json:"group,omitempty"`
	Subscription *Subscription  `json:"subscription,omitempty"`
	// Waiting lists what the index waits for.
	Waiting []Waiting `json:"waiting"`
	Fences  []Fence   `json:"fences"`
	Locks   []Lock    `json:"locks"`
	// Events are the last ones, the newest first.
	Events []ResourceEvent `json:"events"`
}

// ResourceGroup is a resource group.
type ResourceGroup struct {
	State    string `json:"state"` // its provisioningState: Succeeded, Deleting or MovingResources
	Location string `json:"location"`
	// Created is missing if it is unknown.
	Created *time.Time `json:"created,omitempty"`
	Changed *time.Time `json:"changed,omitempty"`
}

// ResourceEvent is one change of a resource.
type ResourceEvent struct {
	Time          time.Time `json:"time"`
	Action        string    `json:"action"`
	Status        string    `json:"status"`
	Detail        string    `json:"detail,omitempty"` // its error, where it moved, or the request for another ID that caused it
	Caller        string    `json:"caller,omitempty"` // the caller's object ID, or the part of Portico that acted
	Name          string    `json:"name,omitempty"`   // in the caller's token
	CorrelationID string    `json:"correlationId,omitempty"`
}

// Why explains how one thing stands.
type Why struct {
	Subject  WhySubject  `json:"subject"`
	Verdict  string      `json:"verdict"` // a few sentences
	Actions  []WhyAction `json:"actions"`
	Known    []WhyEntry  `json:"known"`    // at most 100 entries, the newest first, then those without a time
	Searched string      `json:"searched"` // where the gateway looked, and how far back
}

// WhySubject names the thing.
type WhySubject struct {
	Kind string `json:"kind"` // id, job or correlation
	ID   string `json:"id"`
}

// WhyAction is something that an operator can do.
type WhyAction struct {
	Text    string `json:"text"`
	Command string `json:"command"`
}

// WhyEntry is one known fact.
type WhyEntry struct {
	Time          time.Time `json:"time,omitzero"`
	What          string    `json:"what"` // event, error, step (of a job), lock, or the reason for waiting
	Text          string    `json:"text"`
	By            string    `json:"by,omitempty"` // the caller, or the part of Portico that acted
	CorrelationID string    `json:"correlationId,omitempty"`
	Link          string    `json:"link,omitempty"` // the ID or the job that it is about
}

var lockOperations = []Operation{
	{
		Method: http.MethodGet, Path: "/admin/locks", Summary: "The locks of one subscription.",
		Query:  append([]Parameter{{"subscription", "the subscription; required"}, {"scope", "only locks that apply to this ID: on it and above"}}, paging...),
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
