package gateway

import (
	"time"

	"portico/locate"
	"portico/operations/groupdelete"
	"portico/tracing"
)

// deletionCheck checks a group's emptiness on behalf of whoever began its deletion.
func (g *Gateway) deletionCheck(p groupdelete.Payload) groupdelete.EmptinessCheck {
	caller := locate.Caller{Principal: p.Caller, Identity: tracing.OfCorrelation(p.Correlation, p.Request.Client, g.config.Server.Region, time.Now())}
	return &locate.EmptinessCheck{Prober: g.prober, Caller: caller, Timeout: g.config.Upstream.CallTimeout}
}
