package admin

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"portico/arm"
	"portico/gateway/admin/api"
	"portico/gateway/observe"
	"portico/inventory"
	"portico/jobs"
	"portico/routing"
)

// explain says which way a request would take, without sending it, and what is known of
// what its path names.
func (l *listener) explain(w http.ResponseWriter, r *http.Request) (int, any, error) {
	var q api.Question
	if err := readBody(w, r, &q); err != nil {
		return 0, nil, err
	}
	if !q.Ask {
		observe.SetRead(r.Context())
	}
	e, err := l.Explain(r.Context(), q)
	if err != nil {
		return 0, nil, err
	}
	if e.Known, err = l.knownOf(r.Context(), e.Request.Path); err != nil {
		return 0, nil, err
	}
	if e.Known != nil {
		e.HeldBy = l.heldBy(&e)
	}
	return http.StatusOK, e, nil
}

// knownOf is what is known of what a request target names; nil if it names neither a
// subscription, nor a group or anything in one, nor work that is under way.
func (l *listener) knownOf(ctx context.Context, target string) (*api.ResourceDetail, error) {
	id, query, _ := strings.Cut(target, "?")
	path, err := pathNamed(id, "path")
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // it names nothing
	}
	polled, err := l.polledWork(ctx, id, query)
	if err != nil {
		return nil, err
	}
	const subscriptionItself = 2
	if polled == nil && path.Group() == "" && path.Len() != subscriptionItself {
		return nil, nil //nolint:nilnil // it names a list, or what Portico keeps nothing of
	}
	known, err := l.detailOf(ctx, path)
	if err != nil {
		return nil, err
	}
	if polled != nil {
		known.Waiting = append(known.Waiting, *polled)
	}
	return &known, nil
}

// polledWork is the job behind a polling URL, while it goes on.
func (l *listener) polledWork(ctx context.Context, path, query string) (*api.Waiting, error) {
	q, fault := routing.Classify(l.Config.Map, http.MethodGet, path, query)
	if fault != nil {
		return nil, nil //nolint:nilerr,nilnil // it is refused
	}
	record, err := l.operationAt(ctx, q)
	if errors.Is(err, inventory.ErrNotFound) {
		return nil, nil //nolint:nilnil // there is none
	}
	if err != nil {
		return nil, err
	}
	job, err := l.openJob(ctx, q.Path.Subscription(), record.Follow)
	if err != nil || job == nil {
		return nil, err
	}
	w := l.waitingFor(*job)
	if w.Reason = api.OperationPolled; l.Jobs.Describe(job.Kind).Subject != jobs.ResourceSubject {
		w.Message = reasonMessages[api.OperationPolled]
	}
	w.On, w.Command = record.Resource, command("jobs", "show", job.Name())
	return &w, nil
}

// openWrites are the reasons, apart from jobs, to ask a provider before a request goes
// on, or to refuse it.
var openWrites = []string{api.WriteUnderWay, api.WriteWithoutAnswer, api.MoveUnderWay}

// heldBy are those of what is known that refuse or delay a request.
func (l *listener) heldBy(e *api.Explanation) (all []api.Waiting) {
	reasons := []string{api.OperationPolled}
	holds := func(jobs.Description) bool { return false }
	switch code := arm.Code(e.Verdict.Code); e.Verdict.Outcome {
	case api.Refused:
		if code == arm.Conflict {
			reasons = append(append(reasons, api.FenceStands), openWrites...)
		}
		holds = func(kind jobs.Description) bool { return slices.Contains(kind.Refusals, code) }
	case api.Open:
		if slices.ContainsFunc(e.Calls, func(c api.ExplainedCall) bool { return c.Purpose == api.Probe }) {
			reasons = append(reasons, openWrites...)
			holds = func(kind jobs.Description) bool { return kind.Subject == jobs.ResourceSubject }
		}
	}
	for _, name := range l.Jobs.Kinds() {
		if kind := l.Jobs.Describe(name); holds(kind) {
			reasons = append(reasons, kind.Reason)
		}
	}
	for _, w := range e.Known.Waiting {
		if slices.Contains(reasons, w.Reason) && (w.On == "" || w.Reason != api.FenceStands) {
			all = append(all, w)
		}
	}
	return all
}
