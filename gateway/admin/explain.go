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

// explain shows how a request would be handled, without sending it, and all that is known of
// the resource in its path.
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
	if e.Known, err = l.knownAt(r.Context(), e.Request.Path); err != nil {
		return 0, nil, err
	}
	if e.Known != nil {
		e.HeldBy = l.blockers(&e)
	}
	return http.StatusOK, e, nil
}

// knownAt returns all that is known of the resource that a request target names. It returns
// nil unless the target names a subscription, a group, something in a group, or an operation
// under way.
func (l *listener) knownAt(ctx context.Context, target string) (*api.ResourceDetail, error) {
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
		return nil, nil //nolint:nilnil // it names a list, or something that Portico has no record of
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

// polledWork describes the open job that a polling URL reports on, or returns nil.
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
	w := l.waitingForJob(*job)
	if w.Reason = api.OperationPolled; l.Jobs.Describe(job.Kind).Subject != jobs.ResourceSubject {
		w.Message = reasonMessages[api.OperationPolled]
	}
	w.On, w.Command = record.Resource, command("jobs", "show", job.Name())
	return &w, nil
}

// openWrites are the reasons, other than jobs, to ask a provider first or to refuse a
// request.
var openWrites = []string{api.WriteUnderWay, api.WriteWithoutAnswer, api.MoveUnderWay}

// blockers returns the entries of e.Known that refuse or delay the request.
func (l *listener) blockers(e *api.Explanation) (all []api.Waiting) {
	reasons := []string{api.OperationPolled}
	blocks := func(jobs.Description) bool { return false }
	switch code := arm.Code(e.Verdict.Code); e.Verdict.Outcome {
	case api.Refused:
		if code == arm.Conflict {
			reasons = append(append(reasons, api.FenceStands), openWrites...)
		}
		blocks = func(kind jobs.Description) bool { return slices.Contains(kind.Refusals, code) }
	case api.Open:
		if slices.ContainsFunc(e.Calls, func(c api.ExplainedCall) bool { return c.Purpose == api.Probe }) {
			reasons = append(reasons, openWrites...)
			blocks = func(kind jobs.Description) bool { return kind.Subject == jobs.ResourceSubject }
		}
	}
	for _, name := range l.Jobs.Kinds() {
		if kind := l.Jobs.Describe(name); blocks(kind) {
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
