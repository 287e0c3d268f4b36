// Package report shows what a run of the suite found out: on a terminal, and as files
// for people, for build servers and for programs.
package report

import (
	"time"

	"portico/certify/contract"
)

// Run is one run of the suite.
type Run struct {
	Suite      string            `json:"suite"`    // the version of the suite
	Contract   string            `json:"contract"` // the version of the contract's texts
	Began      time.Time         `json:"began"`
	Took       time.Duration     `json:"took"`
	Target     Target            `json:"target"`
	Claimed    []string          `json:"claimed"` // profiles
	Disruptive bool              `json:"disruptive"`
	Results    []contract.Result `json:"results"`
	// Left are the ids of resources and groups that the run made and could not remove.
	Left []string `json:"left"`
}

// Target is what a run was directed at.
type Target struct {
	Portico   string            `json:"portico,omitempty"`   // the front door's URL
	Endpoints map[string]string `json:"endpoints,omitempty"` // by region, without a front door
	Types     []string          `json:"types"`
}
