package gateway

import "portico/operations"

// Sweeping returns what compares the index with the providers, for whoever
// sweeps without a runner.
func (g *Gateway) Sweeping() *operations.Sweeping { return g.kinds.sweeping }

// sweeping is the kind of durable work that sweeps.
func (g *Gateway) sweeping() *operations.Sweeping {
	return &operations.Sweeping{
		Asker: g.prober, Patience: g.config.Upstream.CallTimeout, Interval: g.config.Index.SweepInterval,
		Region: g.config.Server.Region, Log: g.log,
	}
}
