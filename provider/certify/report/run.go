// Package report shows the results of a run: on a terminal, and as files for
// people (report.html), build servers (junit.xml) and programs
// (results.json). [Compare] shows the changes between two runs.
package report

import (
	"time"

	"portico/provider/certify/contract"
)

// Run is one run of the suite.
type Run struct {
	Suite      string        `json:"suite"`    // the version of the suite
	Contract   string        `json:"contract"` // the edition of the contract's texts
	Began      time.Time     `json:"began"`
	Took       time.Duration `json:"tookNanoseconds"`
	Target     Target        `json:"target"`
	Claimed    []string      `json:"claimed"` // profiles; none means all
	Disruptive bool          `json:"disruptive"`
	// Results has each case once for each type on which it was tried or left out.
	Results []contract.Result `json:"results"`
	// Left lists the ids of resources and groups that the run created and did
	// not remove, because it could not or was told to keep them.
	Left []string `json:"left"`
}

// Target is the provider that a run judged.
type Target struct {
	Portico   string            `json:"portico,omitempty"`   // the front door's URL
	Endpoints map[string]string `json:"endpoints,omitempty"` // by region, without a front door
	Types     []string          `json:"types"`
}
