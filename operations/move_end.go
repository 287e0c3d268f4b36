package operations

import (
	"context"
	"errors"
	"strings"
	"time"

	"go.uber.org/zap"

	"portico/arm"
	"portico/failpoint"
	"portico/inventory"
)

// movesAtOnce is how many resources change their place in one transaction.
const movesAtOnce = 100

// settle records the fates that are known, in the index and in the payload at
// once.
func (w *moveWork) settle(ctx context.Context) error {
	for _, c := range w.plan.calls {
		for {
			page := c.decided(movesAtOnce)
			if len(page) == 0 {
				break
			}
			result := inventory.MoveResult{
				MoveCall: inventory.MoveCall{Source: w.payload.Source, Target: w.payload.Target}, LockETag: w.LockETag,
			}
			for _, m := range page {
				into := map[moveFate]*[]inventory.MoveMember{fateMoved: &result.Moved, fateStayed: &result.Stayed, fateGone: &result.Gone}[m.verdict]
				*into = append(*into, c.inventoryMember(m))
				m.Fate = m.verdict
			}
			failpoint.Pass(failpoint.MoveSettleBefore)
			if err := w.Asker.Store.SettleMove(ctx, &w.held.Job, result, w.render()); err != nil {
				for _, m := range page {
					m.Fate = fateOpen
				}
				return err
			}
			failpoint.Pass(failpoint.MoveSettleAfter)
			for _, m := range page {
				w.metrics.ends.WithLabelValues(m.Fate.String()).Inc()
				w.adopt(ctx, m)
			}
		}
	}
	return nil
}

// decided are members whose fate is known and not recorded.
func (c *MovingCall) decided(limit int) (page []*MovingMember) {
	for _, m := range c.Members {
		if m.Fate == fateOpen && m.verdict != fateOpen && len(page) < limit {
			page = append(page, m)
		}
	}
	return page
}

// adopt takes in what a provider has in both places: nobody else would know of
// the new one before the next sweep.
func (w *moveWork) adopt(ctx context.Context, m *MovingMember) {
	if m.Fate != fateStayed || m.twin == nil || m.Stray {
		return
	}
	if _, err := w.Asker.Store.Adopt(ctx, *m.twin); err != nil {
		w.note("a resource that a provider has twice was not adopted", zap.Error(err))
	}
}

func (f moveFate) String() string { return [...]string{"open", "moved", "stayed", "gone"}[f] }

// closePause is how often the end of a move's last calls is waited for.
const closePause = time.Second

// close gives both groups back, when the fate of all is recorded.
func (w *moveWork) close(ctx context.Context) (Verdict, error) {
	ended := *w.payload
	ended.Progress, ended.Ended = w.plan.progress(), w.now()
	state, outcome := inventory.JobDone, "Succeeded"
	if fault := w.fault(); fault != nil {
		state, outcome = inventory.JobFailed, string(fault.Code)
		if w.held.Job.State == inventory.JobCancelling {
			state = inventory.JobCancelled
		}
		ended.Fault = faultBody(fault, w.leftovers())
	}
	failpoint.Pass(failpoint.MoveEndBefore)
	err := w.Asker.Store.EndMove(ctx, w.held.Job, w.payload.Source, w.payload.Target, state, ended.String())
	switch {
	case errors.As(err, new(*inventory.GroupNotEmptyError)):
		return Verdict{Again: max(closePause, w.Floor)}, nil
	case err != nil:
		return Verdict{}, err
	}
	failpoint.Pass(failpoint.MoveEndAfter)
	w.note("move ended", zap.String("outcome", outcome), zap.Int("moved", ended.Progress.Moved), zap.Int("failed", ended.Progress.Failed))
	return Verdict{End: state, Recorded: true}, nil
}

// fault is the error that a move ends with, nil where all has moved.
func (w *moveWork) fault() *arm.Error {
	p := w.plan.progress()
	switch {
	case p.Failed == 0:
		return nil
	case w.held.Job.State == inventory.JobCancelling:
		return arm.NewError(arm.OperationCanceled, "").Saying(
			"The move to the resource group '%s' was canceled. %d of %d resources had moved, and stay where they are now.", w.to.Name, p.Moved, p.Total)
	}
	return arm.NewError(arm.ResourceMoveFailed, p.Failed, p.Total, w.to.Name, w.payload.Correlation)
}

// leftovers are the resources that have not moved, each with its provider's own
// words.
func (w *moveWork) leftovers() (left []leftover) {
	failed := max(1, w.plan.progress().Failed)
	for _, c := range w.plan.calls {
		for _, m := range c.Members {
			if m.Fate == fateMoved {
				continue
			}
			text := m.Error
			switch {
			case text == "" && c.Error != "":
				text = c.Error
			case text == "" && m.Fate == fateGone:
				text = absentText(m.ID)
			case text == "":
				text = errorText("ResourceNotMoved", "The provider did not move the resource.")
			}
			if bound := faultBytes / failed; len(text) > bound {
				text = strings.ToValidUTF8(text[:bound], "")
			}
			left = append(left, leftover{Target: m.ID, Message: text})
		}
	}
	return left
}

// noteCall logs what a call came to.
func (w *moveWork) noteCall(c *MovingCall, said moveSaid) {
	w.note("move call", zap.String("provider", c.Namespace), zap.String("region", c.Region), zap.Int("resources", len(c.open())), zap.Stringer("result", said.result))
}
