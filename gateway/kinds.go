package gateway

import (
	"maps"
	"slices"

	"portico/config"
	"portico/gateway/frontdoor"
	"portico/inventory"
	"portico/inventory/deployments"
	"portico/inventory/eventlog"
	"portico/inventory/operations"
	"portico/jobs"
	"portico/limits"
	"portico/operations/groupdelete"
	"portico/operations/move"
	"portico/operations/notify"
	"portico/operations/reconcile"
	"portico/operations/sweep"
)

// Kinds describes all kinds of durable work, by the names of their jobs, with the limits of no
// configuration.
func Kinds() map[string]jobs.Description {
	kinds := map[string]jobs.Description{}
	for name, kind := range (&Gateway{config: new(config.Config)}).kinds() {
		kinds[name] = kind.Describe()
	}
	return kinds
}

// NotResumed names the kinds of jobs that a database which was restored does not go on
// with.
func NotResumed() (kinds inventory.NotResumed) {
	described := Kinds()
	for _, name := range slices.Sorted(maps.Keys(described)) {
		switch described[name].AfterRestore {
		case jobs.Resumed:
		case jobs.Cancelled:
			kinds.Cancelled = append(kinds.Cancelled, name)
		case jobs.Removed:
			kinds.Removed = append(kinds.Removed, name)
		}
	}
	return kinds
}

// kinds lists all kinds of durable work, by the names of their jobs, as the gateway's
// configuration has them.
func (g *Gateway) kinds() map[string]jobs.Kind {
	c, index, region := g.config, g.config.Index, g.config.Server.Region
	callTimeout := c.Upstream.CallTimeout
	callLimit := callTimeout + index.CallMargin
	mover := &move.Mover{
		Prober: g.prober, Sender: g.sender, Region: region, Budget: c.Move.TransientBudget, Limit: c.Move.Limit,
		SendWithin: index.SendWithin, CallTimeout: callTimeout, CallMargin: index.CallMargin, LateWriteWindow: index.LateWriteWindow,
		Floor: index.PollFloor, LockETag: frontdoor.LockETag, Authorizer: g.authorizer, Log: g.log,
	}
	return map[string]jobs.Kind{
		inventory.NoticeJob: &notify.SubscriptionNotifier{
			Map: c.Map, Store: g.store, Upstream: g.upstream, Public: g.public, Region: region,
			SendWithin: index.SendWithin, CallLimit: callLimit, LateWriteWindow: index.LateWriteWindow,
			Absence: index.EndpointAbsence, Floor: index.PollFloor,
		},
		inventory.RegistrationJob: notify.RegistrationCompletion{Map: c.Map, Store: g.store, ETag: frontdoor.RegistrationETag},
		inventory.EraseJob:        notify.SubscriptionErasure{Store: g.store, Floor: index.PollFloor},
		sweep.Job:                 g.sweeper,
		eventlog.SinkJob:          g.webhooks,
		inventory.GroupDeleteJob: &groupdelete.Deleter{
			Prober: g.prober, EmptinessCheck: g.deletionCheck, Sender: g.sender, Region: region,
			PerEndpoint: c.GroupDelete.PerEndpoint, AtEndpoint: limits.FullBudget(c.GroupDelete.PerEndpoint, c.Limits.CallerShare), PerJob: c.GroupDelete.PerJob,
			Budget: c.GroupDelete.TransientBudget, Limit: c.GroupDelete.Limit, SendWithin: index.SendWithin, CallLimit: callLimit,
			Floor: index.PollFloor, Log: g.log,
		},
		operations.BatchJob:       g.batches,
		deployments.Job:           g.newDeployer(),
		inventory.MoveJob:         mover,
		inventory.ValidateMoveJob: move.Validator{Mover: mover},
		inventory.VerifyJob: reconcile.Verifier{
			Prober: g.prober, Floor: index.PollFloor, Patience: callTimeout, VersionFallback: index.VersionFallback, Region: region,
		},
		inventory.FollowJob: &reconcile.OperationTracker{
			Prober: g.prober, Floor: index.PollFloor, Patience: callTimeout, LostAfter: index.LostAfter,
			Limit: index.FollowLimit, Recheck: index.FollowRecheck, VersionFallback: index.VersionFallback, Region: region,
		},
		inventory.FenceJob: &reconcile.FenceWatcher{
			Prober: g.prober, Floor: index.PollFloor, Patience: callTimeout, SendWithin: index.SendWithin, CallLimit: callLimit,
			Limit: index.FollowLimit, Recheck: index.FollowRecheck, Region: region, Log: g.log,
		},
	}
}
