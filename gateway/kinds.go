package gateway

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"portico/config"
	"portico/gateway/batch"
	"portico/gateway/frontdoor"
	"portico/inventory"
	"portico/inventory/deploymentrow"
	"portico/inventory/eventlog"
	"portico/inventory/polls"
	"portico/jobs"
	"portico/jobs/deploy"
	"portico/jobs/deploy/deployplan"
	"portico/jobs/groupdelete"
	"portico/jobs/move"
	"portico/jobs/notify"
	"portico/jobs/reconcile"
	"portico/jobs/sweep"
	"portico/limits"
	"portico/probe"
	"portico/tracing"
)

// Kinds describes all kinds of durable work, by the names of their jobs. Their limits, which
// depend on the configuration, are zero.
func Kinds() map[string]jobs.Description {
	kinds := map[string]jobs.Description{}
	for name, kind := range (&Gateway{assembly: &assembly{longLived: &longLived{}, config: new(config.Config)}}).kinds() {
		kinds[name] = kind.Describe()
	}
	return kinds
}

// KindsNotResumed names the kinds of jobs that do not continue after the database was restored.
func KindsNotResumed() (kinds inventory.NotResumed) {
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

// kinds returns all kinds of durable work under the gateway's configuration, by the names of
// their jobs.
func (g *Gateway) kinds() map[string]jobs.Kind {
	c, index, region, prober := g.config, g.config.Index, g.config.Server.Region, g.ports.prober
	callTimeout := c.Upstream.CallTimeout
	callLimit := callTimeout + index.CallMargin
	mover := &move.Mover{
		Prober: prober, Sender: g.sender, Region: region, Budget: c.Move.TransientBudget, Limit: c.Move.Limit,
		SendWithin: index.SendWithin, CallTimeout: callTimeout, CallMargin: index.CallMargin, LateWriteWindow: index.LateWriteWindow,
		Floor: index.PollFloor, LockETag: frontdoor.LockETag, Authorizer: g.ports.authorizer, Log: g.log,
	}
	return map[string]jobs.Kind{
		inventory.NoticeJob: &notify.SubscriptionNotifier{
			Map: c.Map, Store: g.store, Upstream: g.upstream, Public: c.Server.PublicURL, Region: region,
			SendWithin: index.SendWithin, CallLimit: callLimit, LateWriteWindow: index.LateWriteWindow,
			Absence: index.EndpointAbsence, Floor: index.PollFloor,
		},
		inventory.RegistrationJob: notify.RegistrationCompletion{Map: c.Map, Store: g.store, ETag: frontdoor.RegistrationETag},
		inventory.EraseJob:        notify.SubscriptionErasure{Store: g.store, Floor: index.PollFloor},
		sweep.Job:                 g.sweeper,
		eventlog.SinkJob:          g.webhooks,
		inventory.GroupDeleteJob: &groupdelete.Deleter{
			Prober: prober, EmptinessCheck: g.emptinessCheck, Sender: g.sender, Region: region,
			PerEndpoint: c.GroupDelete.PerEndpoint, AtEndpoint: limits.FullBudget(c.GroupDelete.PerEndpoint, c.Limits.CallerShare), PerJob: c.GroupDelete.PerJob,
			Budget: c.GroupDelete.TransientBudget, Limit: c.GroupDelete.Limit, SendWithin: index.SendWithin, CallLimit: callLimit,
			Floor: index.PollFloor, Log: g.log,
		},
		polls.BatchJob:            g.batches,
		deploymentrow.Job:         g.deployer(),
		inventory.MoveJob:         mover,
		inventory.ValidateMoveJob: move.Validator{Mover: mover},
		inventory.VerifyJob: reconcile.Verifier{
			Prober: prober, Floor: index.PollFloor, Patience: callTimeout, VersionFallback: index.VersionFallback, Region: region,
		},
		inventory.FollowJob: &reconcile.OperationTracker{
			Prober: prober, Floor: index.PollFloor, Patience: callTimeout, LostAfter: index.LostAfter,
			Limit: index.FollowLimit, Recheck: index.FollowRecheck, VersionFallback: index.VersionFallback, Region: region,
		},
		inventory.FenceJob: &reconcile.FenceWatcher{
			Prober: prober, Floor: index.PollFloor, Patience: callTimeout, SendWithin: index.SendWithin, CallLimit: callLimit,
			Limit: index.FollowLimit, Recheck: index.FollowRecheck, Region: region, Log: g.log,
		},
	}
}

// emptinessCheck returns the check whether a group is empty. Its calls have the correlation ids
// of the request that started the deletion.
func (g *Gateway) emptinessCheck(p groupdelete.Payload) groupdelete.EmptinessCheck {
	identity := tracing.IdentityForCorrelation(p.Correlation, p.Request.Client, g.config.Server.Region, time.Now())
	return &probe.EmptinessCheck{Prober: g.ports.prober, Identity: identity, Timeout: g.config.Upstream.CallTimeout}
}

// deploymentPatience is how long a deployment that only waits for its providers occupies a
// worker.
const deploymentPatience = 5 * time.Second

func (g *Gateway) deployer() *deploy.Deployer {
	c := g.config
	return &deploy.Deployer{
		Store: g.store, Sender: g.batches.Sender, May: g.callerMay, Target: g.ports.prober.Target,
		Unregistered: deploy.Registrations{Map: c.Map, Store: g.store}.Missing,
		Limit:        c.Deployments.Limit, CallLimit: batch.RequestLimit(c), Kept: c.Operations.Records, Patience: deploymentPatience,
		Memory: g.batchMemory, MemoryLimit: c.Batch.Memory, Log: g.log,
		Limits: deployplan.Limits{
			PerDeployment: c.Deployments.PerDeployment, PerEndpoint: c.Deployments.PerEndpoint,
			Budget: c.Deployments.TransientBudget, Pause: c.Index.PollFloor,
		},
	}
}

// callerMay returns an error if the caller of a deployment may not do an action on an ID, under
// the current configuration.
func (g *Gateway) callerMay(ctx context.Context, caller json.RawMessage, action, id string) error {
	by, err := batch.ReadCaller(caller)
	if err != nil {
		return err
	}
	return g.newest.Load().ports.authorizer.CheckPrincipal(ctx, by.Principal, action, id)
}
