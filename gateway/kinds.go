package gateway

import (
	"github.com/prometheus/client_golang/prometheus"

	"portico/inventory"
	"portico/operations"
)

// kinds are the kinds of durable work that outlast a configuration in part.
type kinds struct {
	noticing      *operations.Noticing
	sweeping      *operations.Sweeping
	groupDeletion *operations.GroupDeletion
	moving        *operations.Moving
	following     *operations.Following
	fencing       *operations.Fencing
}

func (g *Gateway) firstKinds() kinds {
	return kinds{
		noticing:      operations.NewNoticing(g.noticing()),
		sweeping:      operations.NewSweeping(g.sweeping(), g.registry),
		groupDeletion: operations.NewGroupDeletion(g.groupDeletion(), g.registry),
		moving:        operations.NewMoving(g.moving(), g.registry),
		following:     operations.NewFollowing(g.following(), g.registry),
		fencing:       operations.NewFencing(g.fencing(), g.registry),
	}
}

func (g *Gateway) nextKinds(before kinds) kinds {
	return kinds{
		noticing:      before.noticing.Succeed(g.noticing()),
		sweeping:      before.sweeping.Succeed(g.sweeping()),
		groupDeletion: before.groupDeletion.Succeed(g.groupDeletion()),
		moving:        before.moving.Succeed(g.moving()),
		following:     before.following.Succeed(g.following()),
		fencing:       before.fencing.Succeed(g.fencing()),
	}
}

// work is all durable work, by the kinds of jobs.
func (g *Gateway) work() map[string]operations.Kind {
	index := g.config.Index
	return map[string]operations.Kind{
		inventory.NoticeJob:       g.kinds.noticing,
		inventory.RegistrationJob: operations.Settling{Store: g.store},
		inventory.EraseJob:        operations.Erasing{Store: g.store, Floor: index.PollFloor},
		operations.SweepJob:       g.kinds.sweeping,
		inventory.GroupDeleteJob:  g.shared(inventory.GroupDeleteJob, g.kinds.groupDeletion, deleter),
		inventory.RequestBatchJob: g.shared(inventory.RequestBatchJob, g.batches, g.batches.Caller),
		inventory.MoveJob:         g.shared(inventory.MoveJob, g.kinds.moving, mover),
		inventory.ValidateMoveJob: g.shared(inventory.ValidateMoveJob, operations.MoveValidation{Moving: g.kinds.moving}, mover),
		inventory.VerifyJob: operations.Verification{
			Asker: g.prober, Floor: index.PollFloor, Patience: g.config.Upstream.CallTimeout,
			VersionFallback: index.VersionFallback, Region: g.config.Server.Region,
		},
		inventory.FollowJob: g.kinds.following,
		inventory.FenceJob:  g.kinds.fencing,
	}
}

func (g *Gateway) following() operations.Following {
	index := g.config.Index
	return operations.Following{
		Asker: g.prober, Floor: index.PollFloor, Patience: g.config.Upstream.CallTimeout,
		LostAfter: index.LostAfter, Limit: index.FollowLimit, Recheck: index.FollowRecheck, VersionFallback: index.VersionFallback, Region: g.config.Server.Region,
	}
}

func (g *Gateway) fencing() operations.Fencing {
	index := g.config.Index
	return operations.Fencing{
		Asker: g.prober, Floor: index.PollFloor, Patience: g.config.Upstream.CallTimeout, SendWithin: index.SendWithin,
		CallLimit: g.config.Upstream.CallTimeout + index.CallMargin,
		Limit:     index.FollowLimit, Recheck: index.FollowRecheck, Region: g.config.Server.Region, Log: g.log,
	}
}

func (g *Gateway) newRunner(registry prometheus.Registerer) *operations.Runner {
	return operations.NewRunner(operations.RunnerOptions{
		Store: g.store, Owner: g.sender, Lease: g.config.Jobs.Lease, Floor: g.config.Index.PollFloor, Log: g.log, Metrics: registry,
		Kinds: g.work(),
	})
}
