package api

import (
	"net/http"
	"time"
)

var deploymentOperations = []Operation{
	{
		Method: http.MethodGet, Path: "/admin/jobs/{id}/deployment",
		Summary: "A deployment with its steps, and what each waits for, without parameters and outputs.",
		Answer:  Deployment{}, Status: http.StatusOK,
	},
}

// Deployment is a deployment of a template with its steps.
type Deployment struct {
	ID            string           `json:"id"`
	State         string           `json:"state"` // Running, Succeeded, Failed or Canceled
	Mode          string           `json:"mode"`  // Incremental or Complete
	CorrelationID string           `json:"correlationId"`
	Error         string           `json:"error,omitempty"` // why it has failed
	Steps         []DeploymentStep `json:"steps"`
	Further       bool             `json:"further,omitempty"` // there are more
}

// DeploymentStep is a resource or a nested deployment that a deployment creates, or a resource
// that it deletes. The steps of a nested deployment are shown once it has started. After a
// deployment has ended, steps that were never sent and depended on no others are left out.
type DeploymentStep struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	// State is Waiting, Sent (its answer is not known), Accepted (its provider goes on with
	// it), NotSent (its condition left it out, or something that it depends on did not
	// succeed), or the end: Succeeded, Failed, Ended or Canceled.
	State   string `json:"state"`
	Removes bool   `json:"removes,omitempty"` // it is a deletion
	// Within is the ID of the nested deployment that holds it.
	Within    string     `json:"within,omitempty"`
	DependsOn []string   `json:"dependsOn,omitempty"` // IDs
	Began     *time.Time `json:"began,omitempty"`     // when it was last sent
	Ended     *time.Time `json:"ended,omitempty"`
	Status    string     `json:"status,omitempty"` // of its provider's answer, such as Created
	Why       string     `json:"why,omitempty"`    // its last failure
	// WaitsFor is the write of the resource itself that a refused deletion waits for.
	WaitsFor string `json:"waitsFor,omitempty"`
}
