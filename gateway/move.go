package gateway

import (
	"portico/gateway/frontdoor"
	"portico/operations"
)

// moving is the kind of durable work that moves resources.
func (g *Gateway) moving() operations.Moving {
	x := g.config.Index
	return operations.Moving{
		Asker: g.prober, Sender: g.sender, Region: g.config.Server.Region, Budget: g.config.Move.TransientBudget, Limit: g.config.Move.Limit,
		SendWithin: x.SendWithin, CallTimeout: g.config.Upstream.CallTimeout, CallMargin: x.CallMargin, LateWriteWindow: x.LateWriteWindow,
		Floor: x.PollFloor, LockETag: frontdoor.LockETag, Log: g.log,
	}
}
