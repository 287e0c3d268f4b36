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
	"portico/inventory/eventlog"
	"portico/inventory/jobrow"
	"portico/jobs/reconcile"
)

// holdsOf returns what may delay or refuse requests for an ID: the fences on it and on its
// ancestors, and the jobs that work on any of these.
func (l *listener) holdsOf(ctx context.Context, path *arm.Path) (fences []inventory.Fence, all []api.Waiting, err error) {
	fences, all, err = l.fencesAbove(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	jobs, err := l.jobHolds(ctx, path)
	return fences, append(all, jobs...), err
}

// fencesAbove returns the fences on an ID and on its ancestors, the nearest first.
func (l *listener) fencesAbove(ctx context.Context, path *arm.Path) (all []inventory.Fence, waiting []api.Waiting, err error) {
	if path.Group() == "" || path.Hops() == 0 {
		return nil, nil, nil
	}
	sub := path.Subscription()
	const groupSegments, hopSegments = 4, 4
	for n := path.Len(); n >= groupSegments+hopSegments; n-- {
		id := path.Prefix(n)
		found, err := l.Store.Fences.On(ctx, sub, id)
		if err != nil {
			return nil, nil, fmt.Errorf("read the fences above a resource: %w", err)
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

// fenceWaiting describes the wait for the end of the fences on an ID.
func (l *listener) fenceWaiting(ctx context.Context, sub, id string, fences []inventory.Fence) (api.Waiting, error) {
	last := slices.MaxFunc(fences, func(a, b inventory.Fence) int { return a.Until.Compare(b.Until) })
	w := api.Waiting{
		Reason: api.FenceStands, Message: fenceReason(last), Kind: last.Kind.String(), Region: last.Region, Since: last.Since, Until: &last.Until,
		Command: command("unstick", last.ID, "--fence", "--ask"),
	}
	job, err := l.openJob(ctx, sub, reconcile.WatchOn(sub, id).ID)
	if err != nil || job == nil {
		return w, err
	}
	watch := l.waitingForJob(*job)
	w.Job, w.Attempts, w.Progress, w.Next = watch.Job, watch.Attempts, watch.Progress, watch.Next
	return w, nil
}

// openJob returns a job that has not ended, or nil.
func (l *listener) openJob(ctx context.Context, sub string, id [16]byte) (*jobrow.Job, error) {
	j, err := l.Store.Jobs.Get(ctx, sub, id)
	switch {
	case errors.Is(err, inventory.ErrNotFound), err == nil && j.State.Ended():
		return nil, nil //nolint:nilnil // there is none
	case err != nil:
		return nil, fmt.Errorf("read the job that holds a resource: %w", err)
	}
	return &j, nil
}

// jobHolds returns the jobs that delay or refuse requests for a path, as declared by HeldAt
// of their kinds.
func (l *listener) jobHolds(ctx context.Context, path *arm.Path) (all []api.Waiting, err error) {
	for _, name := range l.Jobs.Kinds() {
		kind := l.Jobs.Describe(name)
		if kind.HoldsAt == nil {
			continue
		}
		found, err := kind.HoldsAt(ctx, path)
		if err != nil {
			return nil, err
		}
		for _, hold := range found {
			w := l.waitingForJob(hold.Job)
			if !arm.EqualFold(hold.On, path.String()) {
				w.On = hold.On
			}
			all = append(all, w)
		}
	}
	return all, nil
}

// undelivered lists, by sink, the events in last that the sink has not taken.
func (l *listener) undelivered(ctx context.Context, last []events.Event) (all []api.Waiting, err error) {
	if len(last) == 0 || l.Sinks == nil {
		return nil, nil
	}
	for _, sink := range l.Sinks.Sinks {
		status, err := l.Sinks.Status(ctx, sink.Name)
		if errors.Is(err, inventory.ErrNotFound) {
			continue // its delivery has not started
		}
		if err != nil {
			return nil, err
		}
		missing := 0
		w := api.Waiting{Reason: api.EventsUndelivered, LastOutcome: status.Failure, Command: command("sinks", "show", sink.Name)}
		for _, e := range last { // the newest first
			stored, err := l.Store.Sinks.Event(ctx, e.Subscription, sink.Name, e.Number)
			switch {
			case err == nil && stored.State == eventlog.SinkDead:
				all = append(all, deadLetter(stored))
				continue
			case err == nil:
				w.LastOutcome, w.Attempts, w.Next = cmp.Or(stored.Failure, w.LastOutcome), stored.Attempts, &stored.Due
				w.Command = command("unstick", fmt.Sprintf("sink/%s/%d", sink.Name, e.Number), "--ask")
			case !errors.Is(err, inventory.ErrNotFound):
				return nil, err
			case e.Number <= status.Cursor:
				continue // the sink took it or filters it out
			}
			missing++
			w.Since = e.At
		}
		if missing > 0 {
			w.Message = fmt.Sprintf("The sink %s has not received %d of its last %d events.", sink.Name, missing, len(last))
			all = append(all, w)
		}
	}
	return all, nil
}

func deadLetter(e eventlog.SinkEvent) api.Waiting {
	return api.Waiting{
		Reason: api.EventsUndelivered, Since: e.Since, Attempts: e.Attempts, LastOutcome: e.Failure,
		Message: fmt.Sprintf("Its event %d was given up for the sink %s.", e.Number, e.Sink),
		Command: command("sinks", "replay", e.Sink, strconv.FormatInt(e.Number, 10)),
	}
}

// regionGone returns an entry if the map no longer has the region of a row.
func (l *listener) regionGone(row *inventory.Resource) []api.Waiting {
	if row == nil || l.Config.Map.HasRegion(row.Region) || row.Region == arm.GlobalLocation {
		return nil
	}
	return []api.Waiting{{
		Reason: api.RegionGone, Region: row.Region, Since: row.Changed, Command: command("retire", row.Region, "--dry-run"),
		Message: "The map has no region " + row.Region + ", which the index names for it: no provider can be asked for it.",
	}}
}

// command returns a portico command line, with its words quoted for a shell.
func command(words ...string) string {
	line := "portico"
	for _, word := range words {
		if word == "" || strings.ContainsFunc(word, func(c rune) bool {
			return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("/._-", c))
		}) {
			word = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
		line += " " + word
	}
	return line
}
