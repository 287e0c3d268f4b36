package arm

import (
	"net/http"
	"slices"
)

// Who is to blame for an error.
const (
	BlamePortico     = "Portico"
	BlameUnreachable = "unreachable" // a provider that gave no answer
	BlameProvider    = "provider"    // by its answer
	BlameCaller      = "caller"
)

// Blame returns who is to blame for an error of the gateway's own.
func (e *Error) Blame() string {
	unreachable := func(e Error) bool {
		return e.Code == BadGatewayConnection || e.Code == GatewayTimeout || e.Code == InvalidGatewayHost
	}
	switch {
	case unreachable(*e), slices.ContainsFunc(e.Details, unreachable):
		return BlameUnreachable
	case e.Status >= http.StatusInternalServerError && len(e.Regions) > 0, slices.Contains([]Code{
		InvalidProviderResponse, ResponseTooLarge, ResourceGroupDeletionBlocked, ResourceGroupDeletionTimeout, ResourceMoveFailed,
	}, e.Code):
		return BlameProvider
	case e.Status < http.StatusInternalServerError || e.Code == NotImplemented:
		return BlameCaller
	}
	return BlamePortico
}
