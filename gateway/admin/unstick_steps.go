package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"portico/arm"
	"portico/gateway/admin/api"
	"portico/inventory"
	"portico/inventory/index"
	"portico/inventory/jobrow"
	"portico/jobs"
	"portico/jobs/reconcile"
	"portico/routing"
)

// trigger makes jobs due at once.
func (l unsticker) trigger(ctx context.Context, jobs ...jobrow.Job) (done api.Unstuck, err error) {
	done.Outcome = "The job is due now."
	for _, j := range jobs {
		running, err := l.Store.Jobs.Trigger(ctx, j.Subscription, j.ID)
		if err != nil {
			return done, fmt.Errorf("trigger a job: %w", err)
		}
		if running {
			done.Outcome = "The job is running right now."
		}
		l.Jobs.Nudge(j.Kind)
		done.Jobs = append(done.Jobs, j.Name())
	}
	return done, nil
}

// stuckResource finds a resource that has a row in the index or an open write.
func (l unsticker) stuckResource(ctx context.Context, sub, id string) (*stuck, error) {
	key := arm.Fold(id)
	u, err := l.Store.UnverifiedResource(ctx, sub, key)
	if err != nil {
		return nil, fmt.Errorf("read what a resource waits for: %w", err)
	}
	if u.Row == nil && len(u.Writes) == 0 {
		return nil, arm.NewError(arm.ResourceNotFound, "", "").WithMessage("The index has no such resource. For a fence or a stray, say so in the " +
			"request.").WithTarget(id)
	}
	return &stuck{
		name: id,
		ask: func(ctx context.Context) (api.Unstuck, error) {
			switch {
			case u.Row == nil:
				return api.Unstuck{}, &inventory.ObstacleError{Obstacle: inventory.WriteOpen, Until: u.Writes[0].Ends}
			case len(u.Jobs) > 0:
				return l.trigger(ctx, u.Jobs...)
			}
			err := l.Store.RequestVerify(ctx, sub, key)
			l.Jobs.Nudge(inventory.VerifyJob)
			return api.Unstuck{Outcome: "The provider is asked about the resource."}, err
		},
		giveUp: func(ctx context.Context) (api.Unstuck, error) { return l.giveUpFollows(ctx, u) },
		forget: func(ctx context.Context) (api.Unstuck, error) {
			if u.Row == nil {
				return api.Unstuck{}, &inventory.ObstacleError{Obstacle: inventory.WriteOpen, Until: u.Writes[0].Ends}
			}
			if _, err := l.Store.ForgetResource(ctx, sub, key); err != nil {
				return api.Unstuck{}, fmt.Errorf("forget a resource: %w", err)
			}
			l.resumeDeletion(ctx, sub, u.Row.Group)
			return api.Unstuck{Outcome: "The index has forgotten the resource. The provider is asked about resources below it."}, nil
		},
	}, nil
}

// giveUpFollows gives up those jobs of a resource whose kinds allow that.
func (l unsticker) giveUpFollows(ctx context.Context, u inventory.Unverified) (done api.Unstuck, err error) {
	for _, j := range u.Jobs {
		kind := l.Jobs.Describe(j.Kind)
		if kind.GiveUp == nil {
			continue
		}
		if done, err = l.giveUp(ctx, kind, j); err != nil {
			return api.Unstuck{}, err
		}
	}
	switch {
	case done.Outcome != "":
		return done, nil
	case len(u.Writes) > 0:
		return api.Unstuck{}, obstacleOf(u.Writes[0], l.Store.Now())
	}
	return unsupported("A verification ends when the provider reports the state of the resource: ask again, or forget the resource.")(ctx)
}

// giveUp ends a job as if it had reached its time limit.
func (l unsticker) giveUp(ctx context.Context, kind jobs.Description, j jobrow.Job) (api.Unstuck, error) {
	done, err := kind.GiveUp(ctx, j)
	if err == nil {
		l.finishGiveUp(done)
	}
	return api.Unstuck{Outcome: done.Outcome}, err
}

// finishGiveUp nudges the jobs that continue after something was given up, and counts it.
func (l unsticker) finishGiveUp(done jobs.GivenUp) {
	l.Jobs.Nudge(done.Next)
	if done.Count != nil && !l.dry {
		done.Count()
	}
}

func obstacleOf(w inventory.OpenWrite, now time.Time) error {
	switch {
	case w.Kind == index.Move:
		return &inventory.ObstacleError{Obstacle: inventory.MoveOpen}
	case !w.CallEnded && now.Before(w.NotAfter):
		return &inventory.ObstacleError{Obstacle: inventory.CallUnderWay, Until: w.NotAfter}
	}
	return &inventory.ObstacleError{Obstacle: inventory.WriteOpen, Until: w.Ends}
}

// resumeDeletion makes a running deletion of a group check its members now instead of later.
// Errors do not matter: the deletion does so by itself in time.
func (l unsticker) resumeDeletion(ctx context.Context, sub, group string) {
	if _, job, err := l.Store.Deletions.Of(ctx, sub, group); err == nil {
		_, _ = l.Store.Jobs.Trigger(ctx, job.Subscription, job.ID)
		l.Jobs.Nudge(job.Kind)
	}
}

// stuckGroup finds the job of a group that is being deleted or moved.
func (l unsticker) stuckGroup(ctx context.Context, q *routing.Request) (*stuck, error) {
	g, err := l.Store.Group(ctx, q.Path.Subscription(), q.Path.Group())
	switch {
	case errors.Is(err, inventory.ErrNotFound):
		return nil, arm.NewError(arm.ResourceGroupNotFound, q.Path.Group())
	case err != nil:
		return nil, fmt.Errorf("read a stuck group: %w", err)
	case g.State != index.GroupDeleting && g.State != index.GroupMoving:
		return nil, arm.NewError(arm.Conflict).WithMessage("The resource group has no pending work.")
	}
	j, err := l.Store.Jobs.Get(ctx, g.Subscription, g.Generation)
	if errors.Is(err, inventory.ErrNotFound) && g.State == index.GroupMoving {
		return nil, arm.NewError(arm.Conflict).WithMessage("The move is a job of the group that the resources come from: use the ID of that group.")
	}
	if err != nil {
		return nil, l.refusal(err, q.Path.String())
	}
	at, err := l.stuckJob(ctx, j.Subscription, j.ID, "")
	if err == nil {
		at.name = q.Path.String()
	}
	return at, err
}

// stuckJob finds an open job, or the part of it that works on a resource. For a job that works
// on a resource, a fence or a sink, it returns that instead.
func (l unsticker) stuckJob(ctx context.Context, sub string, id [16]byte, part string) (*stuck, error) {
	j, err := l.Store.Jobs.Get(ctx, sub, id)
	switch {
	case errors.Is(err, inventory.ErrNotFound):
		return nil, noJob()
	case err != nil:
		return nil, fmt.Errorf("read a stuck job: %w", err)
	case j.State.Ended():
		return nil, arm.NewError(arm.Conflict).WithMessage("The job has ended.")
	}
	kind := l.Jobs.Describe(j.Kind)
	if part != "" {
		return l.stuckPart(kind, j, part)
	}
	switch kind.Subject {
	case jobs.ResourceSubject:
		return l.stuckResource(ctx, j.Subscription, j.Subject)
	case jobs.FenceSubject:
		return l.stuckFence(j.Subscription, j.Subject), nil
	case jobs.SinkSubject:
		return l.stuckSink(j.Subject, "", "")
	case jobs.OtherSubject:
	}
	at := &stuck{
		name:   j.Name(),
		ask:    func(ctx context.Context) (api.Unstuck, error) { return l.trigger(ctx, j) },
		giveUp: unsupported("A job of the kind %s can only end by itself: ask again.", j.Kind),
		forget: unsupported("A job cannot be forgotten: ask again, or give it up."),
	}
	switch {
	case kind.Cancellable:
		at.giveUp = func(ctx context.Context) (api.Unstuck, error) {
			stays, err := whatStays(ctx, kind, j)
			if err == nil {
				err = l.Store.CancelJob(ctx, j.Subscription, j.ID)
			}
			l.Jobs.Nudge(j.Kind)
			return api.Unstuck{Outcome: strings.Join(strings.Fields("The job is being canceled. "+stays), " "), Jobs: []string{j.Name()}}, err
		}
	case kind.GiveUp != nil:
		at.giveUp = func(ctx context.Context) (api.Unstuck, error) { return l.giveUp(ctx, kind, j) }
	}
	return at, nil
}

// whatStays says of a job that is canceled how far it is, what it has left, and what stays.
func whatStays(ctx context.Context, kind jobs.Description, j jobrow.Job) (string, error) {
	if kind.Remaining == nil {
		return kind.Progress(j).Outcome + " " + kind.Canceled, nil
	}
	const mostNamed = 20
	left, err := kind.Remaining(ctx, j, mostNamed)
	names := make([]string, len(left))
	for i, m := range left {
		names[i] = arm.ShortName(m.ID)
	}
	return fmt.Sprintf("%s Left, %d at most: %s. %s", kind.Progress(j).Outcome, mostNamed, cmp.Or(strings.Join(names, ", "), "nothing"), kind.Canceled), err
}

// stuckPart returns the part of a job that works on a resource.
func (l unsticker) stuckPart(kind jobs.Description, j jobrow.Job, resource string) (*stuck, error) {
	if kind.GiveUpPart == nil {
		return nil, arm.NewError(arm.Conflict).WithMessage("A job of the kind %s has no steps for single resources: leave out the resource.", j.Kind)
	}
	const refusal = "A step can only be given up: leave out the resource."
	return &stuck{
		name: resource, ask: unsupported(refusal), forget: unsupported(refusal),
		giveUp: func(ctx context.Context) (api.Unstuck, error) {
			done, err := kind.GiveUpPart(ctx, j, resource)
			if err != nil {
				return api.Unstuck{}, err
			}
			l.finishGiveUp(done)
			return api.Unstuck{Outcome: done.Outcome, Jobs: []string{j.Name()}}, nil
		},
	}, nil
}

// stuckFence returns the fences on an ID.
func (l unsticker) stuckFence(sub, id string) *stuck {
	return &stuck{
		name: id,
		ask: func(ctx context.Context) (api.Unstuck, error) {
			return l.trigger(ctx, reconcile.WatchOn(sub, id))
		},
		giveUp: unsupported("A fence ends when its time is over and the provider confirms that no write has taken effect: ask again, or forget " +
			"the fence after that."),
		forget: func(ctx context.Context) (api.Unstuck, error) {
			_, err := l.Store.Fences.ForgetSworn(ctx, sub, id)
			l.Jobs.Nudge(inventory.EraseJob)
			return api.Unstuck{Outcome: "The fences on the ID are gone. It can be used again."}, err
		},
	}
}

// stuckStray returns a resource that was seen in another region than the index has it in.
func (l unsticker) stuckStray(stray inventory.Stray) *stuck {
	return &stuck{
		name:   stray.ID,
		ask:    unsupported("Strays are checked by sweeps and by the deletion of their resource group: start a sweep."),
		giveUp: unsupported("A stray stays until a sweep finds that it is gone: start a sweep, or forget the stray."),
		forget: func(ctx context.Context) (api.Unstuck, error) {
			if err := l.Store.Strays.ForgetSworn(ctx, stray); err != nil {
				return api.Unstuck{}, fmt.Errorf("forget a stray: %w", err)
			}
			_, group := arm.GroupOf(stray.Key)
			l.resumeDeletion(ctx, stray.Subscription, group)
			return api.Unstuck{Outcome: "The stray was forgotten. A sweep that finds it will report it again."}, nil
		},
	}
}
