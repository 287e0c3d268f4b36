package deploy

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"portico/arm"
	"portico/internal/failpoint"
	"portico/inventory/deploymentrow"
	"portico/jobs"
	"portico/jobs/deploy/deployplan"
	"portico/limits"
)

func (a *attempt) run(ctx context.Context) (jobs.Result, error) {
	results, records := make(chan settled), make(chan noted)
	running := 0 // orders, and records of what became of them
	var failure error
	for {
		now := a.Store.Now()
		if failure == nil {
			failure = ctx.Err()
		}
		switch late := now.Sub(a.order.Now) > a.Limit; {
		case failure != nil, late && running > 0: // what is under way ends first
		case late:
			a.expire(now)
		default:
			for _, o := range a.plan.Next(now) {
				running++
				t := a.task(o)
				go func() { results <- a.guarded(ctx, t) }()
			}
		}
		a.measure()
		if running == 0 {
			if failure != nil {
				return jobs.Result{}, failure
			}
			if result, ended, err := a.onIdle(ctx, now); ended || err != nil {
				return result, err
			}
		}
		var wake <-chan time.Time
		if due, waits := a.plan.Wake(now); waits && failure == nil {
			wake = time.After(due.Sub(now))
		}
		select {
		case s := <-results:
			running--
			n, err := a.settle(s)
			if err != nil {
				failure = cmp.Or(failure, err)
				continue
			}
			running++
			go func() { records <- n.wait() }()
		case n := <-records:
			running--
			if failure = cmp.Or(failure, n.err); n.err == nil {
				a.countEnds(n.ends)
			}
		case <-wake:
		case <-done(ctx, failure):
			failure = ctx.Err()
		}
	}
}

// onIdle ends the attempt if no order is under way and the deployment is over, has only
// deletions left, or can only wait for longer than it keeps its place.
func (a *attempt) onIdle(ctx context.Context, now time.Time) (result jobs.Result, ended bool, err error) {
	if a.plan.Removes() || a.plan.Removal() != nil {
		result, err = a.remove(ctx)
		return result, true, err
	}
	if end, over := a.plan.Over(); over {
		return jobs.Result{Recorded: true}, true, a.finish(ctx, end)
	}
	due, waits := a.plan.Wake(now)
	if pause := due.Sub(now); waits && a.leaves(pause) {
		return jobs.Result{Again: pause, Payload: a.order.Payload(a.plan.Counts())}, true, nil
	}
	return jobs.Result{}, false, nil
}

// done is the end of ctx, unless that is known.
func done(ctx context.Context, failure error) <-chan struct{} {
	if failure != nil {
		return nil
	}
	return ctx.Done()
}

// guarded carries an order out. A panic in it is an error of the attempt.
func (a *attempt) guarded(ctx context.Context, t task) (s settled) {
	if p := limits.CatchPanic(func() { s = a.carry(ctx, t) }); p != nil {
		return settled{task: t, outcome: deployplan.Lost, err: p}
	}
	return s
}

// noted is progress that is being recorded.
type noted struct {
	ends     []int // the steps that end with it
	recorded func() error
	err      error // once it is
}

// wait returns when the progress is recorded. What follows from it is sent meanwhile: that
// is recorded no sooner.
func (n noted) wait() noted {
	n.err = n.recorded()
	failpoint.Pass(failpoint.DeploySettleAfter)
	return n
}

// settle tells the plan what became of an order, and has it recorded.
func (a *attempt) settle(s settled) (n noted, _ error) {
	if s.err != nil {
		return n, s.err
	}
	now := a.Store.Now()
	if s.grows != nil && s.outcome == deployplan.GoesOn {
		s.record.Unfolded.From = len(a.steps)
		added, holds := a.grow(s.Step, s.grows)
		a.plan.Grow(s.Step, added, holds)
	}
	changed := append([]int{s.Step}, a.plan.Settle(s.Order, s.outcome, s.after, now)...)
	s.record.Fault = s.record.Fault.Within(a.errorBytes())
	a.records[s.Step] = s.record
	failpoint.Pass(failpoint.DeploySettleBefore)
	progress := map[int]deploymentrow.Step{}
	for _, i := range changed {
		state, r := a.plan.Steps[i].State, &a.records[i]
		if state.Over() {
			r.Ended = now
			n.ends = append(n.ends, i)
		}
		if i != s.Step && state == deployplan.Succeeded {
			r.LeftOut = true // with the nested deployment that holds it
		}
		if r.Target == nil && !a.steps[i].existing() {
			a.steps[i].target(r)
		}
		step, err := recorded(state, r)
		if err != nil {
			return n, err
		}
		if i == s.Step {
			step.Created = s.created
		}
		progress[i] = step
	}
	n.recorded = a.record.add(progress)
	return n, nil
}

func (a *attempt) countEnds(steps []int) {
	for _, i := range steps {
		a.metrics.endStep(a.plan.Steps[i].State, &a.records[i])
	}
}

// recorded is the progress of a step or a deletion as it is stored.
func recorded(state deployplan.State, r any) (deploymentrow.Step, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return deploymentrow.Step{}, fmt.Errorf("record a step: %w", err)
	}
	return deploymentrow.Step{State: uint8(state), Record: text}, nil
}

// recordOne records the progress of one step or deletion.
func (a *attempt) recordOne(number int, state deployplan.State, r any) error {
	step, err := recorded(state, r)
	if err != nil {
		return err
	}
	return a.record.add(map[int]deploymentrow.Step{number: step})()
}

// expire ends a deployment that has taken too long.
func (a *attempt) expire(now time.Time) {
	a.expired = append(a.expired, a.plan.Expire()...)
	for _, i := range a.expired {
		a.records[i].Ended = now
		a.records[i].Fault = arm.NewError(arm.DeploymentFailed).
			Saying("The resource '%s' had not come to an end when the deployment's time of %s was over.", a.steps[i].reference().ID, a.Limit.String())
		a.metrics.endStep(deployplan.Failed, &a.records[i])
	}
}
