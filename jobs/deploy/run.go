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
	results, records := make(chan settled), make(chan recording)
	running := 0 // orders, and recordings of their results
	var failure error
	for {
		now := a.Store.Now()
		if failure == nil {
			failure = ctx.Err()
		}
		switch late := now.Sub(a.order.Now) > a.Limit; {
		case failure != nil, late && running > 0: // orders under way end first
		case late:
			a.expire(now)
		default:
			for _, o := range a.plan.Next(now) {
				running++
				t := a.task(o)
				go func() { results <- a.executeSafely(ctx, t) }()
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
		case <-doneUnlessFailed(ctx, failure):
			failure = ctx.Err()
		}
	}
}

// onIdle handles the state without an order under way. It ends the attempt if the deployment is over, has
// only deletions left, or can only wait for longer than the attempt keeps its slot.
func (a *attempt) onIdle(ctx context.Context, now time.Time) (result jobs.Result, ended bool, err error) {
	if a.plan.Removes() || a.plan.Removal() != nil {
		result, err = a.remove(ctx)
		return result, true, err
	}
	if end, over := a.plan.Over(); over {
		return jobs.Result{Recorded: true}, true, a.finish(ctx, end)
	}
	due, waits := a.plan.Wake(now)
	if pause := due.Sub(now); waits && a.givesJobBack(pause) {
		return jobs.Result{Again: pause, Payload: a.order.Payload(a.plan.Counts())}, true, nil
	}
	return jobs.Result{}, false, nil
}

// doneUnlessFailed returns ctx.Done(), or nil once the attempt has failed.
func doneUnlessFailed(ctx context.Context, failure error) <-chan struct{} {
	if failure != nil {
		return nil
	}
	return ctx.Done()
}

// executeSafely executes an order. A panic becomes an error of the attempt.
func (a *attempt) executeSafely(ctx context.Context, t task) (s settled) {
	if p := limits.CatchPanic(func() { s = a.execute(ctx, t) }); p != nil {
		return settled{task: t, outcome: deployplan.Lost, err: p}
	}
	return s
}

// recording is progress that is being recorded.
type recording struct {
	ends   []int // the steps that end with it
	commit func() error
	err    error // the result of commit
}

// wait returns when the progress is recorded. The calls that follow from it are made meanwhile;
// their results are recorded no sooner.
func (n recording) wait() recording {
	n.err = n.commit()
	failpoint.Pass(failpoint.DeploySettleAfter)
	return n
}

// settle applies the result of an order to the plan, and begins to record it.
func (a *attempt) settle(s settled) (n recording, _ error) {
	if s.err != nil {
		return n, s.err
	}
	now := a.Store.Now()
	if s.grows != nil && s.outcome == deployplan.GoesOn {
		s.record.Unfolded.From = len(a.steps)
		added, holds := a.addNestedSteps(s.Step, s.grows)
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
			r.LeftOut = true // as is the nested deployment that holds it
		}
		if r.Target == nil && !a.steps[i].existing() {
			a.steps[i].recordTarget(r)
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
	n.commit = a.record.add(progress)
	return n, nil
}

func (a *attempt) countEnds(steps []int) {
	for _, i := range steps {
		a.metrics.endStep(a.plan.Steps[i].State, &a.records[i])
	}
}

// recorded returns the progress of a step or a deletion in its stored form.
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
			WithMessage("The resource '%s' had not come to an end when the deployment's time of %s was over.", a.steps[i].reference().ID, a.Limit.String())
		a.metrics.endStep(deployplan.Failed, &a.records[i])
	}
}
