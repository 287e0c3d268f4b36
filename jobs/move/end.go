package move

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"portico/arm"
	"portico/internal/failpoint"
	"portico/inventory"
	"portico/inventory/jobrow"
	"portico/jobs"
	"portico/jobs/move/moveplan"
	"portico/upstream/answers"
)

// rowsAtOnce is the number of resources that move in one transaction.
const rowsAtOnce = 100

// settle records the decided states of resources, in the index and in the payload at
// once.
func (w *attempt) settle(ctx context.Context) error {
	for _, c := range w.plan.Calls {
		for {
			page := c.Unrecorded(rowsAtOnce)
			if len(page) == 0 {
				break
			}
			result := inventory.MoveResult{
				MoveCall: inventory.MoveCall{Source: w.payload.Source, Target: w.payload.Target}, LockETag: w.LockETag,
			}
			for _, m := range page {
				into := map[moveplan.State]*[]inventory.MoveResource{
					moveplan.Moved: &result.Moved, moveplan.Stayed: &result.Stayed, moveplan.Gone: &result.Gone,
				}[m.Decided]
				*into = append(*into, c.InventoryRow(m))
				m.State = m.Decided
			}
			failpoint.Pass(failpoint.MoveSettleBefore)
			if err := w.Prober.Store.Moves.Settle(ctx, &w.claim.Job, result, w.render()); err != nil {
				for _, m := range page {
					m.State = moveplan.Open
				}
				return fmt.Errorf("record what has moved: %w", err)
			}
			failpoint.Pass(failpoint.MoveSettleAfter)
			for _, m := range page {
				w.metrics.ends.WithLabelValues(m.State.String()).Inc()
				w.adopt(ctx, m)
			}
		}
	}
	return nil
}

// adopt adopts a resource that its provider has in both places: nothing else would find
// the new one before the next sweep.
func (w *attempt) adopt(ctx context.Context, m *moveplan.Resource) {
	if m.State != moveplan.Stayed || m.Twin == nil || m.Stray {
		return
	}
	if _, err := w.Prober.Store.Adopt(ctx, *m.Twin); err != nil {
		w.logEvent("a resource that a provider has twice was not adopted", zap.Error(err))
	}
}

// closePause is the pause before closing is tried again while a last call holds the
// groups.
const closePause = time.Second

// close makes both groups Active again, once the state of every resource is recorded.
func (w *attempt) close(ctx context.Context) (jobs.Result, error) {
	ended := *w.payload
	ended.Progress, ended.Ended = w.plan.Summary(), w.now()
	state, outcome := jobrow.Done, "Succeeded"
	fault := w.fault()
	if fault != nil {
		state, outcome = jobrow.Failed, string(fault.Code)
		if w.claim.Job.State == jobrow.Cancelling {
			state = jobrow.Cancelled
		}
		ended.Fault = answers.FaultBody(fault, w.leftovers())
	}
	failpoint.Pass(failpoint.MoveEndBefore)
	err := w.Prober.Store.Moves.End(ctx, w.claim.Job, w.payload.Source, w.payload.Target, state, ended.String(), fault)
	switch {
	case errors.As(err, new(*inventory.GroupNotEmptyError)):
		return jobs.Result{Again: max(closePause, w.Floor)}, nil
	case err != nil:
		return jobs.Result{}, fmt.Errorf("end a move: %w", err)
	}
	failpoint.Pass(failpoint.MoveEndAfter)
	w.logEvent("move ended", zap.String("outcome", outcome), zap.Int("moved", ended.Progress.Moved), zap.Int("failed", ended.Progress.Failed))
	return jobs.Result{End: state, Recorded: true}, nil
}

// fault returns the error that a move ends with, nil if all has moved.
func (w *attempt) fault() *arm.Error {
	p := w.plan.Summary()
	switch {
	case p.Failed == 0:
		return nil
	case w.claim.Job.State == jobrow.Cancelling:
		return arm.NewError(arm.OperationCanceled, "").WithMessage(
			"The move to the resource group '%s' was canceled. %d of %d resources had moved, and stay where they are now.", w.to.Name, p.Moved, p.Total)
	}
	return arm.NewError(arm.ResourceMoveFailed, p.Failed, p.Total, w.to.Name, w.payload.Correlation)
}

// leftovers returns the resources that have not moved, each with its provider's answer.
func (w *attempt) leftovers() (left []answers.Detail) {
	failed := max(1, w.plan.Summary().Failed)
	for _, c := range w.plan.Calls {
		for _, m := range c.Resources {
			if m.State == moveplan.Moved {
				continue
			}
			text := m.Error
			switch {
			case text == "" && c.Error != "":
				text = c.Error
			case text == "" && m.State == moveplan.Gone:
				text = absentText(m.ID)
			case text == "" && c.Claimed:
				text = answers.FaultText("ResourceNotMoved", "The provider answered that it had moved the resource, but has it where it was.")
			case text == "":
				text = answers.FaultText("ResourceNotMoved", "The provider did not move the resource.")
			}
			left = append(left, answers.Detail{Target: m.ID, Message: answers.Cut(text, answers.DetailBytes/failed)})
		}
	}
	return left
}

// logCall logs the result of a call.
func (w *attempt) logCall(c *moveplan.Call, result moveplan.Result) {
	w.logEvent("move call", zap.String("provider", c.Namespace), zap.String("region", c.Region), zap.Int("resources", len(c.Open())),
		zap.Stringer("result", result.Outcome))
}
