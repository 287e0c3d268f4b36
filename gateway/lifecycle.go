package gateway

import (
	"portico/inventory"
	"portico/operations"
)

// addressees are all endpoints of the map that may have to be told of
// subscriptions.
func (g *Gateway) addressees() []inventory.Addressee {
	return operations.Addressees(g.router.Map.Providers()...)
}

// noticing is the kind of durable work that tells providers of subscriptions.
func (g *Gateway) noticing() operations.Noticing {
	index := g.config.Index
	return operations.Noticing{
		Map: g.config.Map, Store: g.store, Upstream: g.upstream, Public: g.public, Region: g.config.Server.Region,
		SendWithin: index.SendWithin, CallLimit: g.config.Upstream.CallTimeout + index.CallMargin,
		LateWriteWindow: index.LateWriteWindow, Absence: index.EndpointAbsence, Floor: index.PollFloor,
	}
}
