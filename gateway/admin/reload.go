package admin

import (
	"errors"
	"fmt"
	"net/http"

	"portico/arm"
	"portico/config"
	"portico/gateway/admin/api"
)

// Reloaded describes a configuration that was loaded.
type Reloaded = api.Reloaded

// reload reads the configuration again. If it has a fault, nothing changes.
func (l *listener) reload(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	if l.Reload == nil {
		return 0, nil, arm.NewError(arm.NotImplemented).WithMessage("This gateway was not started from a configuration file.")
	}
	reloaded, err := l.Reload(r.Context())
	if faults, ok := errors.AsType[config.Faults](err); ok {
		return 0, nil, badConfiguration(faults)
	}
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, reloaded, nil
}

// badConfiguration returns an error with a detail for each fault. The target of a detail is
// the file and line.
func badConfiguration(faults config.Faults) *arm.Error {
	refusal := arm.NewError(arm.InvalidRequestContent, "").WithMessage("The configuration is unchanged. %s", faults.Error())
	for _, f := range faults {
		at := f.File
		if f.Line > 0 {
			at = fmt.Sprintf("%s:%d", f.File, f.Line)
		}
		refusal.Details = append(refusal.Details, *arm.NewError(arm.InvalidRequestContent, "").WithMessage("%s", f.Error()).WithTarget(at))
	}
	return refusal
}
