package admin

import (
	"net/http"

	"portico/gateway/admin/api"
	"portico/gateway/admin/status"
	"portico/internal/version"
)

// getStatus shows the state of this gateway and its problems. It works without the store.
func (l *listener) getStatus(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	select { // one at a time: the search counts rows of all subscriptions
	case l.statusCheck <- struct{}{}:
		defer func() { <-l.statusCheck }()
	case <-r.Context().Done():
		return 0, nil, r.Context().Err()
	}
	sources := status.Sources{
		Config: l.Config, Store: l.Store, Regions: l.allRegions(), Sweeps: l.Sweeps, Sinks: l.Sinks, Jobs: l.Jobs, Metrics: l.Metrics,
		StoreDownSince: l.Jobs.StoreDownSince(),
	}
	build := version.Current()
	return http.StatusOK, api.Status{
		Version: build.Version, Revision: build.Revision, Region: l.Config.Server.Region, Started: l.Started.UTC(), Generation: max(1, int(l.Generations.Current())),
		Store: l.Config.Store.Driver, Replicas: l.Jobs.Replicas(), Problems: sources.Find(r.Context()),
	}, nil
}
