package gateway

import (
	"net/http"
	"time"

	"portico/locate"
	"portico/operations/groupdelete"
	"portico/tracing"
)

// deletionCheck checks a group's emptiness on behalf of whoever began its deletion.
func (g *Gateway) deletionCheck(p groupdelete.Payload) groupdelete.EmptinessCheck {
	// No client sent the header, so there is nothing to refuse.
	identity, _ := tracing.Identify(http.Header{tracing.CorrelationHeader: {p.Correlation}}, g.config.Server.Region, time.Now())
	caller := locate.Caller{Principal: p.Caller, Identity: identity}
	return &locate.EmptinessCheck{Prober: g.prober, Caller: caller, Timeout: g.config.Upstream.CallTimeout}
}
