package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"portico/arm"
	"portico/events"
	"portico/gateway/admin/api"
	"portico/inventory"
	"portico/inventory/index"
	"portico/inventory/jobrow"
	"portico/operations/groupdelete"
	"portico/operations/move"
	"portico/routing"
)

// mostNotices bounds how many notices of a subscription are shown.
const mostNotices = 100

// holdsOf are what an ID lies in or under that may hold up requests for it, and what else
// works on that: the fences on it and above it, with their jobs, its group's deletion or
// move, and what is under way with its subscription.
func (l *listener) holdsOf(ctx context.Context, path *arm.Path) (fences []inventory.Fence, all []api.Waiting, err error) {
	fences, all, err = l.fencesAbove(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	for _, look := range []func(context.Context, *arm.Path) ([]api.Waiting, error){l.groupJobs, l.registrationJob, l.subscriptionJobs} {
		found, err := look(ctx, path)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, found...)
	}
	return fences, all, nil
}

// fencesAbove are the fences on an ID and on what it lies below, the nearest first.
func (l *listener) fencesAbove(ctx context.Context, path *arm.Path) (all []inventory.Fence, waiting []api.Waiting, err error) {
	if path.Group() == "" || path.Hops() == 0 {
		return nil, nil, nil
	}
	sub := path.Subscription()
	const groupSegments, hopSegments = 4, 4
	for n := path.Len(); n >= groupSegments+hopSegments; n-- {
		id := path.Prefix(n)
		found, err := l.Store.Fences(ctx, sub, id)
		if err != nil {
			return nil, nil, err
		}
		if len(found) == 0 {
			continue
		}
		w, err := l.fenceWaiting(ctx, sub, id, found)
		if err != nil {
			return nil, nil, err
		}
		if n < path.Len() {
			w.On = found[0].ID
		}
		all, waiting = append(all, found...), append(waiting, w)
	}
	return all, waiting, nil
}

// fenceWaiting is the wait for the end of the fences on an ID.
func (l *listener) fenceWaiting(ctx context.Context, sub, id string, fences []inventory.Fence) (api.Waiting, error) {
	last := slices.MaxFunc(fences, func(a, b inventory.Fence) int { return a.Until.Compare(b.Until) })
	w := api.Waiting{
		Reason: api.FenceStands, Message: fenceReason(last), Kind: last.Kind.String(), Region: last.Region, Since: last.Since, Until: &last.Until,
		Command: command("unstick", last.ID, "--fence", "--ask"),
	}
	job, err := l.openJob(ctx, sub, jobrow.ID(inventory.FenceJob, arm.Fold(id)))
	if err != nil || job == nil {
		return w, err
	}
	w.Job, w.Attempts, w.Progress = job.Name(), job.Attempts, progressOf(*job)
	if job.Owner == "" {
		w.Next = &job.Due
	}
	return w, nil
}

// openJob is a job that has not ended, nil if there is none.
func (l *listener) openJob(ctx context.Context, sub string, id [16]byte) (*jobrow.Job, error) {
	j, err := l.Store.Job(ctx, sub, id)
	switch {
	case errors.Is(err, inventory.ErrNotFound), err == nil && j.State.Ended():
		return nil, nil //nolint:nilnil // there is none
	case err != nil:
		return nil, err
	}
	return &j, nil
}

// groupJobs are the deletion or the move that a group is in, whose the path is, or in
// which it lies.
func (l *listener) groupJobs(ctx context.Context, path *arm.Path) ([]api.Waiting, error) {
	if path.Group() == "" {
		return nil, nil
	}
	group, err := l.Store.Group(ctx, path.Subscription(), path.Group())
	if errors.Is(err, inventory.ErrNotFound) {
		return nil, nil
	}
	if err != nil || group.State != index.GroupDeleting && group.State != index.GroupMoving {
		return nil, err
	}
	job, err := l.jobOfGroup(ctx, group)
	if err != nil || job == nil {
		return nil, err
	}
	w := waitingFor(*job, api.DeletionUnderWay)
	limit := l.Config.GroupDelete.Limit
	if group.State == index.GroupMoving {
		w = waitingFor(*job, api.GroupMoveUnderWay)
		limit = l.Config.Move.Limit
	}
	w.LastOutcome, w.Command = comeSoFar(*job), command("jobs", "show", job.Name())
	until := job.Created.Add(limit)
	w.Until = &until
	if id := routing.GroupID(path.Subscription(), group.Name); !arm.EqualFold(id, path.String()) {
		w.On = id
	}
	return []api.Waiting{w}, nil
}

// jobOfGroup is the job that a group is marked for. That of a move is the job of the
// group that the resources come from, which may lie in another subscription.
func (l *listener) jobOfGroup(ctx context.Context, group inventory.Group) (*jobrow.Job, error) {
	job, err := l.openJob(ctx, group.Subscription, group.Generation)
	if err != nil || job != nil || group.State != index.GroupMoving {
		return job, err
	}
	moves, err := l.Store.Jobs(ctx, jobrow.Query{Kind: inventory.MoveJob, Limit: largestPage})
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(moves, func(j jobrow.Job) bool { return j.ID == group.Generation && !j.State.Ended() }); i >= 0 {
		return &moves[i], nil
	}
	return nil, nil //nolint:nilnil // it has just ended
}

// comeSoFar says how far a deletion or a move has come, and what it waits for.
func comeSoFar(j jobrow.Job) string {
	var said string
	var regions []string
	switch j.Kind {
	case inventory.GroupDeleteJob:
		p, err := groupdelete.ReadPayload(j)
		if err != nil {
			return ""
		}
		said, regions = fmt.Sprintf("%d of %d resources are deleted.", p.Progress.Deleted, p.Progress.Total), p.Progress.WaitingFor
		if n := p.Progress.Parked; n > 0 {
			said += fmt.Sprintf(" %d were refused by their providers.", n)
		}
	case inventory.MoveJob:
		p, err := move.ReadPayload(j)
		if err != nil {
			return ""
		}
		said, regions = fmt.Sprintf("%d of %d resources are moved.", p.Progress.Moved, p.Progress.Total), p.Progress.WaitingFor
		if n := p.Progress.Failed; n > 0 {
			said += fmt.Sprintf(" %d were not.", n)
		}
	}
	if len(regions) > 0 {
		said += " These regions do not answer: " + strings.Join(regions, ", ") + "."
	}
	if j.State == jobrow.Cancelling {
		said += " It is being canceled."
	}
	return said
}

// registrationJob settles the registration of the namespace in a path.
func (l *listener) registrationJob(ctx context.Context, path *arm.Path) ([]api.Waiting, error) {
	if path.Hops() == 0 {
		return nil, nil
	}
	namespace := arm.Fold(path.LastHop().Namespace())
	job, err := l.openJob(ctx, path.Subscription(), jobrow.ID(inventory.RegistrationJob, namespace))
	if err != nil || job == nil {
		return nil, err
	}
	w := waitingFor(*job, api.RegistrationUnderWay)
	w.On, w.Command = "/subscriptions/"+path.Subscription()+"/providers/"+path.LastHop().Namespace(), command("jobs", "show", job.Name())
	return []api.Waiting{w}, nil
}

// subscriptionJobs are the erasure of a subscription, whatever in it the path names, and
// of the subscription itself the notices that its endpoints have not got.
func (l *listener) subscriptionJobs(ctx context.Context, path *arm.Path) (all []api.Waiting, err error) {
	sub, id := path.Subscription(), "/subscriptions/"+path.Subscription()
	itself := arm.EqualFold(path.String(), id)
	erasure, err := l.openJob(ctx, sub, inventory.EraseJobID)
	if err != nil {
		return nil, err
	}
	if erasure != nil {
		w := waitingFor(*erasure, api.ErasureUnderWay)
		if w.Command = command("jobs", "show", w.Job); !itself {
			w.On = id
		}
		all = append(all, w)
	}
	if !itself {
		return all, nil
	}
	notices, err := l.Store.JobsOf(ctx, sub, inventory.NoticeJob, mostNotices)
	for _, j := range notices {
		all = append(all, noticeWaiting(j))
	}
	return all, err
}

func noticeWaiting(j jobrow.Job) api.Waiting {
	w := waitingFor(j, api.NoticePending)
	if n, err := inventory.ReadNotice(j); err == nil {
		w.Region, w.Message = n.Region, fmt.Sprintf("The endpoint of %s in %s has not been notified of the subscription's state.", n.Namespace, n.Region)
		w.LastOutcome = n.Progress.Answer
	}
	w.Command = command("jobs", "show", w.Job)
	return w
}

// undelivered says which of the last events of an ID sinks have not taken.
func (l *listener) undelivered(ctx context.Context, last []events.Event) (all []api.Waiting, err error) {
	if len(last) == 0 || l.Sinks == nil {
		return nil, nil
	}
	for _, sink := range l.Sinks.Sinks {
		status, err := l.Sinks.Status(ctx, sink.Name)
		if errors.Is(err, inventory.ErrNotFound) {
			continue // it has not begun
		}
		if err != nil {
			return nil, err
		}
		behind := 0
		w := api.Waiting{Reason: api.EventsUndelivered, LastOutcome: status.Failure, Command: command("sinks", "show", sink.Name)}
		for _, e := range last { // the newest first
			kept, err := l.Store.SinkEvent(ctx, e.Subscription, sink.Name, e.Number)
			switch {
			case err == nil && kept.State == inventory.SinkDead:
				all = append(all, deadLetter(kept))
				continue
			case err == nil:
				w.LastOutcome, w.Attempts, w.Next = cmp.Or(kept.Failure, w.LastOutcome), kept.Attempts, &kept.Due
				w.Command = command("unstick", fmt.Sprintf("sink/%s/%d", sink.Name, e.Number), "--ask")
			case !errors.Is(err, inventory.ErrNotFound):
				return nil, err
			case e.Number <= status.Cursor:
				continue // it was taken, or is none that the sink wants
			}
			behind++
			w.Since = e.At
		}
		if behind > 0 {
			w.Message = fmt.Sprintf("The sink %s has not got %d of the last %d events of it.", sink.Name, behind, len(last))
			all = append(all, w)
		}
	}
	return all, nil
}

func deadLetter(e inventory.SinkEvent) api.Waiting {
	return api.Waiting{
		Reason: api.EventsUndelivered, Since: e.Since, Attempts: e.Attempts, LastOutcome: e.Failure,
		Message: fmt.Sprintf("The event %d of it was given up for the sink %s.", e.Number, e.Sink),
		Command: command("sinks", "replay", e.Sink, strconv.FormatInt(e.Number, 10)),
	}
}

// regionGone says that the map no longer has the region of a row.
func (l *listener) regionGone(row *inventory.Resource) []api.Waiting {
	if row == nil || l.Config.Map.HasRegion(row.Region) || row.Region == arm.GlobalLocation {
		return nil
	}
	return []api.Waiting{{
		Reason: api.RegionGone, Region: row.Region, Since: row.Changed, Command: command("retire", row.Region, "--dry-run"),
		Message: "The map has no region " + row.Region + ", where the index has it: nobody can be asked for it.",
	}}
}

// command is a command of portico whose words a shell takes as they are.
func command(words ...string) string {
	said := "portico"
	for _, word := range words {
		if word == "" || strings.ContainsFunc(word, func(c rune) bool {
			return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("/._-", c))
		}) {
			word = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
		said += " " + word
	}
	return said
}
