package gateway

import (
	"net/http"
	"time"

	"portico/locate"
	"portico/operations"
	"portico/tracing"
)

// groupDeletion is the kind of durable work that deletes groups.
func (g *Gateway) groupDeletion() operations.GroupDeletion {
	o := g.config.GroupDelete
	return operations.GroupDeletion{
		Asker: g.prober, LastLook: func(p operations.DeletionPayload) operations.LastLook { return g.emptinessCheck(g.deletionCaller(p)) },
		Sender: g.sender, Region: g.config.Server.Region, PerEndpoint: o.PerEndpoint, AtEndpoint: int(float64(o.PerEndpoint) / g.config.Limits.CallerShare), PerJob: o.PerJob,
		Budget: o.TransientBudget, Limit: o.Limit, SendWithin: g.config.Index.SendWithin, CallLimit: g.config.Upstream.CallTimeout + g.config.Index.CallMargin,
		Floor: g.config.Index.PollFloor, Log: g.log,
	}
}

// deletionCaller is the caller who began a deletion, as its job acts for them.
func (g *Gateway) deletionCaller(p operations.DeletionPayload) locate.Caller {
	// No client sent the header, so there is nothing to refuse.
	identity, _ := tracing.Identify(http.Header{tracing.CorrelationHeader: {p.Correlation}}, g.config.Server.Region, time.Now())
	return locate.Caller{Principal: p.Caller, Identity: identity}
}

// emptinessCheck asks on a caller's behalf whether anything is left in a group.
func (g *Gateway) emptinessCheck(caller locate.Caller) *locate.EmptinessCheck {
	return &locate.EmptinessCheck{Prober: g.prober, Caller: caller, Timeout: g.config.Upstream.CallTimeout}
}
