package admin

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"portico/arm"
	"portico/gateway/admin/api"
	"portico/inventory"
	"portico/inventory/index"
	"portico/inventory/jobrow"
	"portico/jobs"
)

var reasonMessages = map[string]string{
	api.WriteUnderWay:      "The write was sent, or is about to be; the end of its call is not recorded.",
	api.WriteWithoutAnswer: "The call of the write ended without a definite answer; the provider may still apply it.",
	api.MoveUnderWay:       "A provider was asked to move the resource; the job of the move waits for the result.",
	api.OperationPolled:    "This URL is polled for its outcome.",
}

func (l *listener) doubtOf(u inventory.Unverified, now time.Time) api.Doubt {
	d := api.Doubt{ID: u.Key, Flags: []string{}, Why: l.waitingOf(u, now)}
	if len(u.Writes) > 0 {
		d.Region = u.Writes[0].Region
		if last := u.Writes[0].Ends; !last.IsZero() {
			d.Until = &last
		}
	}
	if row := u.Row; row != nil {
		d.ID, d.Region, d.Phase, d.Flags = row.ID, row.Region, row.Phase.String(), flagsOf(row)
		if row.FollowPut || row.FollowDelete || row.FollowPatch {
			d.Until = nil
		}
	}
	return d
}

// flagsOf names the flags of a row: the facts that the index is not sure of.
func flagsOf(row *inventory.Resource) []string {
	flags := []string{}
	for _, flag := range []struct {
		name string
		set  bool
	}{{"verify", row.Verify}, {"followPut", row.FollowPut}, {"followDelete", row.FollowDelete}, {"followPatch", row.FollowPatch}} {
		if flag.set {
			flags = append(flags, flag.name)
		}
	}
	return flags
}

// waitingOf lists the open writes of a resource and the jobs that work on it.
func (l *listener) waitingOf(u inventory.Unverified, now time.Time) []api.Waiting {
	all := make([]api.Waiting, 0, len(u.Writes)+len(u.Jobs))
	for _, w := range u.Writes {
		all = append(all, waitingForWrite(w, now))
	}
	for _, j := range u.Jobs {
		w := l.waitingForJob(j)
		w.Command = command("unstick", cmp.Or(u.Row.ID, u.Key), "--ask")
		all = append(all, w)
	}
	return all
}

func waitingForWrite(w inventory.OpenWrite, now time.Time) api.Waiting {
	r := api.Waiting{Reason: api.WriteWithoutAnswer, Kind: w.Kind.String(), Region: w.Region, Since: w.Started}
	if !w.Ends.IsZero() {
		r.Until = &w.Ends
	}
	switch {
	case w.Kind == index.Move:
		r.Reason = api.MoveUnderWay
	case !w.CallEnded && now.Before(w.NotAfter):
		r.Reason, r.Until = api.WriteUnderWay, &w.NotAfter
	}
	r.Message = reasonMessages[r.Reason]
	return r
}

// waitingForJob describes an open job as something that is waited for.
func (l *listener) waitingForJob(j jobrow.Job) api.Waiting {
	kind := l.Jobs.Describe(j.Kind)
	standing := kind.Progress(j)
	w := api.Waiting{
		Reason: kind.Reason, Message: cmp.Or(standing.Message, kind.Message), Kind: standing.Write, Region: standing.Region,
		Job: j.Name(), Attempts: j.Attempts, LastOutcome: lastOutcome(standing), WaitingFor: standing.WaitingFor, Progress: progressOf(j),
		Since: j.Created, Until: untilOf(kind, j), Command: command(kind.Command(j)...),
	}
	if j.Owner == "" {
		w.Next = &j.Due
	}
	return w
}

// lastOutcome says what came of a job last, and what it waits for.
func lastOutcome(s jobs.ProgressReport) string {
	text := s.Outcome
	if len(s.WaitingFor) > 0 {
		text += " These regions do not answer: " + strings.Join(s.WaitingFor, ", ") + "."
	}
	return strings.TrimSpace(text)
}

// listDoubts lists the regions that were not listed in full, and then the resources that the
// index is not sure of, with reasons and times: in ?subscription=, at most ?limit= after
// ?after=. A page that is not full may still have a next one.
func (l *listener) listDoubts(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	query := r.URL.Query()
	wanted := inventory.UnverifiedQuery{Subscription: query.Get("subscription"), After: query.Get("after")}
	if wanted.Subscription != "" && !arm.ValidGUID(wanted.Subscription) {
		return 0, nil, arm.NewError(arm.InvalidSubscriptionID, wanted.Subscription).WithTarget("subscription")
	}
	var err error
	if wanted.Limit, err = pageSize(query); err != nil {
		return 0, nil, err
	}
	page := api.Page[api.Doubt]{Value: []api.Doubt{}}
	var more []api.Doubt
	next := ""
	if wanted.After == "" || strings.HasPrefix(wanted.After, afterUnlisted) {
		more, next, err = l.unlistedDoubts(r.Context(), arm.Fold(wanted.Subscription), wanted.After, wanted.Limit)
		page.Value, wanted.After = append(page.Value, more...), afterRegions
	}
	switch left := wanted.Limit - len(page.Value); {
	case err != nil || next != "":
	case left == 0:
		next = afterRegions
	default:
		wanted.Limit, wanted.After = left, strings.TrimPrefix(wanted.After, afterRegions)
		more, next, err = l.unverifiedDoubts(r.Context(), wanted)
		page.Value = append(page.Value, more...)
	}
	if errors.Is(err, inventory.ErrInvalidCursor) {
		return 0, nil, invalidPosition()
	}
	if err != nil {
		return 0, nil, err
	}
	if next != "" {
		page.NextLink = nextPage("/admin/doubts", query, next)
	}
	return http.StatusOK, page, nil
}

// unverifiedDoubts lists resources that the index is not sure of.
func (l *listener) unverifiedDoubts(ctx context.Context, wanted inventory.UnverifiedQuery) (doubts []api.Doubt, next string, err error) {
	found, err := l.Store.Unverified(ctx, wanted)
	now := l.Store.Now()
	for _, u := range found.Value {
		doubts = append(doubts, l.doubtOf(u, now))
	}
	return doubts, found.Next, err
}
