package gateway

import (
	"net/http"
	"sync"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/gateway/frontdoor/deployments"
	"portico/gateway/preflight"
)

// newWhatIf returns the handlers of validate and what-if. Their reads are their caller's,
// as those of a batch are.
func (g *Gateway) newWhatIf() deployments.WhatIf {
	judged := g.newPreflight()
	return deployments.WhatIf{
		Orders: g.newOrders(),
		Get:    g.batches.Get, Deployed: g.store.Deployments.Deployed, Reading: g.config.Upstream.CallTimeout,
		Judge: func(r *http.Request, x *exchange.Exchange, subscription string, sent []deployments.Sent, withoutWrite bool) ([]*arm.Error, error) {
			return judged.Faults(r, x, subscription, plannedOf(sent), withoutWrite)
		},
		Memory: func(r *http.Request, x *exchange.Exchange) (grow func(n int) error, end func()) {
			memory := g.batchMemory.Reservation(x.Caller(), g.config.Batch.Memory)
			var turn sync.Mutex // a reservation has one holder
			return func(n int) error {
				turn.Lock()
				defer turn.Unlock()
				if memory.Grow(r.Context(), int64(n)) != nil {
					return arm.NewError(arm.ServerBusy, "the answers that batches and what-ifs hold take all the memory that there is for them")
				}
				return nil
			}, memory.Close
		},
	}
}

// plannedOf are resources that a template would send, as plans have them.
func plannedOf(sent []deployments.Sent) (planned []preflight.Resource) {
	for _, s := range sent {
		planned = append(planned, preflight.Resource{ID: s.ID, Path: s.Path, Type: s.Type, Name: s.Name, APIVersion: s.APIVersion, Body: s.Body, Nested: s.Nested})
	}
	return planned
}
