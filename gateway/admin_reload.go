package gateway

import (
	"errors"
	"fmt"
	"net/http"

	"portico/arm"
	"portico/config"
)

// Reloaded tells of a configuration that was taken over.
type Reloaded struct {
	Generation int64 `json:"generation"` // the first is 1
	// NeedsRestart are the settings that differ from what the gateway was started
	// with, but cannot change while it runs: they stay as they were.
	NeedsRestart []string `json:"needsRestart,omitempty"`
}

// adminReload has the configuration read anew. One with a fault changes nothing.
func (g *Gateway) adminReload(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	if g.reload == nil {
		return 0, nil, arm.NewError(arm.NotImplemented).Saying("This gateway was not made from a file.")
	}
	reloaded, err := g.reload(r.Context())
	var faults config.Faults
	if errors.As(err, &faults) {
		return 0, nil, badConfiguration(faults)
	}
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, reloaded, nil
}

// badConfiguration has a detail for each fault, whose target is file and line.
func badConfiguration(faults config.Faults) *arm.Error {
	refusal := arm.NewError(arm.InvalidRequestContent, "").Saying("The configuration stays as it was. %s", faults.Error())
	for _, f := range faults {
		at := f.File
		if f.Line > 0 {
			at = fmt.Sprintf("%s:%d", f.File, f.Line)
		}
		refusal.Details = append(refusal.Details, *arm.NewError(arm.InvalidRequestContent, "").Saying("%s", f.Error()).About(at))
	}
	return refusal
}
