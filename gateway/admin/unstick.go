package admin

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"go.uber.org/zap"

	"portico/arm"
	"portico/gateway/admin/api"
	"portico/gateway/polling"
	"portico/inventory"
	"portico/inventory/engine"
	"portico/inventory/jobrow"
	"portico/inventory/polls"
	"portico/routing"
)

// unsticker executes orders of operators about work that is stuck.
type unsticker struct {
	*listener
	dry bool // all writes are rolled back, and nothing else is done
}

// longestReason is in bytes.
const longestReason = 512

// unstick retries, gives up or forgets something that waits. The index would take each step by
// itself at some time, or on a provider's answer; a step that is not safe now is refused.
func (l unsticker) unstick(w http.ResponseWriter, r *http.Request) (int, any, error) {
	var sent api.UnstickOrder
	if err := readBody(w, r, &sent); err != nil {
		return 0, nil, err
	}
	if err := checkOrder(&sent); err != nil {
		return 0, nil, err
	}
	l.dry = sent.DryRun
	at, err := l.findStuck(r.Context(), &sent)
	if err != nil {
		return 0, nil, err
	}
	if sent.DryRun {
		return l.dryRun(r.Context(), at, sent.Step)
	}
	done, err := at.run(r.Context(), sent.Step)
	l.Audit.Event("unstick", zap.String("client", r.RemoteAddr), zap.String("step", sent.Step), zap.String("target", at.name),
		zap.String("reason", sent.Reason), zap.Bool("done", err == nil))
	return l.answer(at, sent.Step, done, err)
}

// dryRun runs a step with all writes rolled back, and returns what it would have done.
func (l unsticker) dryRun(ctx context.Context, at *stuck, step string) (int, any, error) {
	done, err := at.run(engine.Rehearse(ctx), step)
	done.DryRun = true
	return l.answer(at, step, done, err)
}

func (l unsticker) answer(at *stuck, step string, done api.Unstuck, err error) (int, any, error) {
	if err != nil {
		return 0, nil, l.refusal(err, at.name)
	}
	done.Step, done.Target = step, at.name
	if done.Jobs == nil {
		done.Jobs = []string{}
	}
	return http.StatusOK, done, nil
}

func checkOrder(o *api.UnstickOrder) error {
	named := 0
	for _, name := range []string{o.ID, o.Job, o.Operation, o.Fence, o.Sink} {
		if name != "" {
			named++
		}
	}
	switch {
	case named != 1:
		return arm.NewError(arm.InvalidRequestContent, "exactly one of id, job, operation, fence and sink is required")
	case !slices.Contains([]string{api.Ask, api.GiveUp, api.Forget}, o.Step):
		return arm.NewError(arm.InvalidRequestContent, "step must be ask, giveUp or forget").WithTarget("step")
	case o.Region != "" && o.ID == "":
		return arm.NewError(arm.InvalidRequestContent, "region can be combined only with id").WithTarget("region")
	case o.Resource != "" && o.Job == "" && o.Operation == "":
		return arm.NewError(arm.InvalidRequestContent, "resource can be combined only with job or operation").WithTarget("resource")
	case o.Event != "" && o.Sink == "":
		return arm.NewError(arm.InvalidRequestContent, "event can be combined only with sink").WithTarget("event")
	case o.DryRun:
		return nil
	case o.Step == api.GiveUp && o.Sink != "" && strings.TrimSpace(o.Reason) == "":
		return arm.NewError(arm.InvalidRequestContent, "giving up an event requires a reason").WithTarget("reason")
	case o.Step == api.Forget && strings.TrimSpace(o.Reason) == "":
		return arm.NewError(arm.InvalidRequestContent, "forgetting requires a reason").WithTarget("reason")
	}
	return checkReason(o.Reason)
}

// checkReason refuses a reason that the audit log cannot show.
func checkReason(reason string) error {
	if len(reason) > longestReason || strings.ContainsFunc(reason, func(c rune) bool { return !unicode.IsPrint(c) }) {
		return arm.NewError(arm.InvalidRequestContent, "a reason is printable text of at most 512 bytes").WithTarget("reason")
	}
	return nil
}

// stuck is something that waits. Its functions are the steps, which return what they did.
type stuck struct {
	name                string
	ask, giveUp, forget func(context.Context) (api.Unstuck, error)
}

// run runs the step with the given name.
func (s *stuck) run(ctx context.Context, step string) (api.Unstuck, error) {
	return map[string]func(context.Context) (api.Unstuck, error){api.Ask: s.ask, api.GiveUp: s.giveUp, api.Forget: s.forget}[step](ctx)
}

// unsupported returns a step that is always refused, with a text.
func unsupported(text string, args ...any) func(context.Context) (api.Unstuck, error) {
	return func(context.Context) (api.Unstuck, error) {
		return api.Unstuck{}, arm.NewError(arm.Conflict).WithMessage(text, args...)
	}
}

// findStuck finds what an order names.
func (l unsticker) findStuck(ctx context.Context, o *api.UnstickOrder) (*stuck, error) {
	switch {
	case o.Job != "":
		sub, id, err := jobrow.ParseName(o.Job)
		if err != nil {
			return nil, noJob()
		}
		return l.stuckJob(ctx, sub, id, o.Resource)
	case o.Sink != "":
		return l.stuckSink(o.Sink, o.Event, o.Reason)
	case o.Operation != "":
		return l.stuckOperation(ctx, o.Operation, o.Resource)
	case o.Fence != "":
		q, err := l.stuckID(o.Fence)
		if err != nil {
			return nil, err
		}
		return l.stuckFence(q.Path.Subscription(), q.Path.String()), nil
	}
	q, err := l.stuckID(o.ID)
	switch {
	case err != nil:
		return nil, err
	case q.Path.Hops() == 0:
		return l.stuckGroup(ctx, q)
	case o.Region != "":
		return l.stuckStray(inventory.Stray{
			Subscription: q.Path.Subscription(), Region: arm.Location(o.Region), Key: arm.Fold(q.Path.String()), ID: q.Path.String(),
		}), nil
	}
	return l.stuckResource(ctx, q.Path.Subscription(), q.Path.String())
}

// stuckID parses the ID of a resource group or of a resource in one.
func (l unsticker) stuckID(id string) (*routing.Request, error) {
	q, fault := routing.ClassifyID(l.Config.Map, http.MethodGet, id)
	if fault != nil {
		return nil, fault.WithTarget("id")
	}
	if q.Path.Group() == "" || q.Path.Hops() == 0 && q.Path.Len() != 4 {
		return nil, arm.NewError(arm.InvalidRequestContent, "id must be the ID of a resource group, or of a resource in one").WithTarget("id")
	}
	return q, nil
}

// stuckOperation finds the work behind a polling URL, or the part of it that works on a
// resource.
func (l unsticker) stuckOperation(ctx context.Context, text, part string) (*stuck, error) {
	at, err := url.Parse(text)
	if err != nil || !strings.HasPrefix(at.Path, "/") {
		return nil, arm.NewError(arm.InvalidRequestContent, "operation must be the URL that its client polls").WithTarget("operation")
	}
	q, fault := routing.Classify(l.Config.Map, http.MethodGet, at.EscapedPath(), at.RawQuery)
	if fault != nil && q.Path.Len() == 0 {
		return nil, fault.WithTarget("operation")
	}
	record, err := l.operationAt(ctx, q)
	if errors.Is(err, inventory.ErrNotFound) {
		return nil, arm.NewError(arm.ResourceNotFound, "", "").WithMessage("The operation is unknown, or it is not followed.")
	}
	if err != nil {
		return nil, err
	}
	sub := q.Path.Subscription()
	found, err := l.stuckJob(ctx, sub, record.Follow, part)
	if fault, ok := errors.AsType[*arm.Error](err); ok && part == "" && fault.Code == arm.ResourceNotFound && record.Resource != "" {
		return l.stuckResource(ctx, sub, record.Resource) // a provider's operation
	}
	return found, err
}

// operationAt returns the operation of a polling URL. The error is inventory.ErrNotFound if
// there is none.
func (l *listener) operationAt(ctx context.Context, q *routing.Request) (polls.Operation, error) {
	if q.Path.Len() == 0 {
		return polls.Operation{}, inventory.ErrNotFound
	}
	for _, token := range []string{polling.Token(q.Path.Segment(q.Path.Len() - 1)), routing.PollToken(q.Path.String(), q.Query)} {
		record, err := l.Store.Operations.Operation(ctx, q.Path.Subscription(), token)
		if !errors.Is(err, inventory.ErrNotFound) {
			return record, err
		}
	}
	return polls.Operation{}, inventory.ErrNotFound
}

// refusal returns the error for a step that was refused: why, until when, and what to do
// instead.
func (l unsticker) refusal(err error, name string) error {
	obstacle, ok := errors.AsType[*inventory.ObstacleError](err)
	switch {
	case errors.Is(err, inventory.ErrNotFound):
		return arm.NewError(arm.ResourceNotFound, "", "").WithMessage("It has no pending work.").WithTarget(name)
	case errors.Is(err, jobrow.ErrEnded), errors.Is(err, jobrow.ErrLeaseLost):
		return arm.NewError(arm.Conflict).WithMessage("The job has ended, or is running right now.").WithTarget(name)
	case !ok:
		return err
	}
	text := obstacleTexts[obstacle.Obstacle]
	fault := arm.NewError(arm.Conflict).WithMessage("%s", text).WithTarget(name)
	if !obstacle.Until.IsZero() {
		fault = fault.WithMessage("%s It ends at %s at the latest.", text, obstacle.Until.UTC().Format(time.RFC3339))
		fault.RetryAfter = max(time.Second, obstacle.Until.Sub(l.Store.Now()))
	}
	return fault
}

var obstacleTexts = map[inventory.Obstacle]string{
	inventory.CallUnderWay:      "A call may be in progress: wait for its end.",
	inventory.WriteOpen:         "A write without an answer may still take effect: ask again, or wait.",
	inventory.MoveOpen:          "It is being moved: give up the job of the move.",
	inventory.OperationFollowed: "The provider is working on it: ask again, or give it up after it has been followed for index.followLimit.",
	inventory.AlreadyVerified:   "Its row is verified: ask first, and forget it if the provider gives no clear answer.",
	inventory.FenceStands:       "A write from before its resource group was deleted may still take effect: wait.",
}
