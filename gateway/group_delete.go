package gateway

import (
	"time"

	"portico/locate"
	"portico/operations/groupdelete"
	"portico/tracing"
)

// deletionCheck checks a group's emptiness by the ids of whoever began its deletion.
func (g *Gateway) deletionCheck(p groupdelete.Payload) groupdelete.EmptinessCheck {
	identity := tracing.OfCorrelation(p.Correlation, p.Request.Client, g.config.Server.Region, time.Now())
	return &locate.EmptinessCheck{Prober: g.prober, Identity: identity, Timeout: g.config.Upstream.CallTimeout}
}
