package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"portico/arm"
	"portico/gateway/admin/api"
	"portico/gateway/admin/status"
	"portico/gateway/observe"
	"portico/inventory"
	"portico/inventory/jobrow"
	"portico/routing"
)

// Bounds of an answer about one thing.
const (
	mostKnown    = 100
	mostSearched = 20_000 // of the newest events, for a correlation id
)

// inquiry collects what is known of one thing.
type inquiry struct {
	*listener
	api.Why
	exists  bool
	about   string   // the ID that is the subject, or that the subject works on
	regions []string // that it depends on
	waiting []api.Waiting
}

// why shows how ?of= stands. It composes what other operations show.
func (l *listener) why(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	of := strings.TrimSpace(r.URL.Query().Get("of"))
	if _, err := l.latest(r.Context()); err != nil { // numbers new events
		return 0, nil, err
	}
	q := &inquiry{listener: l, Why: api.Why{Actions: []api.WhyAction{}, Known: []api.WhyEntry{}}}
	q.Searched = fmt.Sprintf("the index, the jobs, the latest errors of each gateway, and the events since %s, for a correlation id the newest %d",
		api.Stamp(l.Store.Now().Add(-l.Config.Events.Retention)), mostSearched)
	if err := q.find(r.Context(), of); err != nil && !errors.Is(err, inventory.ErrNotFound) {
		return 0, nil, err
	}
	q.conclude()
	if !q.exists && len(q.Known) == 0 {
		return 0, nil, arm.NewError(arm.ResourceNotFound, "", "").WithMessage("Nothing is known of '%s'. Searched: %s.", of, q.Searched).WithTarget("of")
	}
	return http.StatusOK, q.Why, nil
}

// find finds what an operator named.
func (q *inquiry) find(ctx context.Context, of string) error {
	if sub, id, err := jobrow.ParseName(of); err == nil {
		return q.findJob(ctx, sub, id)
	}
	if arm.ValidGUID(of) {
		return q.findCorrelation(ctx, of)
	}
	at, err := url.Parse(arm.PathOf(of))
	if err != nil || !strings.HasPrefix(at.Path, "/") {
		return arm.NewError(arm.InvalidQueryParameter, "of", "it must be the ID of a subscription, or of a group or resource in one, "+
			"the URL that a client polls, a correlation id, or the id of a job").WithTarget("of")
	}
	named, _ := routing.Classify(q.Config.Map, http.MethodGet, at.EscapedPath(), at.RawQuery) // a type that the map lacks may have a history
	record, err := q.operationAt(ctx, named)
	if err != nil {
		return q.findID(ctx, named.Path.String())
	}
	err = q.findJob(ctx, record.Subscription, record.Follow)
	if errors.Is(err, inventory.ErrNotFound) && record.Resource != "" { // a provider's work
		err = q.findID(ctx, record.Resource)
	}
	return err
}

// findJob adds what is known of a job, and of the ID that it works on.
func (q *inquiry) findJob(ctx context.Context, sub string, id [16]byte) error {
	j, err := q.Store.Jobs.Get(ctx, sub, id)
	if err != nil {
		return err
	}
	shown := q.jobOf(j)
	q.Subject, q.exists = api.WhySubject{Kind: "job", ID: shown.ID}, true
	q.Verdict = fmt.Sprintf("The job (%s) is %s since %s. ", j.Kind, shown.State, api.Stamp(j.Changed))
	steps, err := q.Store.Jobs.History(ctx, j.Subscription, j.ID)
	for _, s := range steps {
		text := strings.TrimSpace(s.Outcome + " " + s.Did)
		if s.Times > 1 {
			text = fmt.Sprintf("%d times since %s: %s", s.Times, api.Stamp(s.Since), text)
		}
		q.Known = append(q.Known, api.WhyEntry{Time: s.At, What: "step", Text: text, By: s.Replica})
	}
	if on := cmp.Or(shown.On, j.Subject); err == nil && strings.HasPrefix(on, "/subscriptions/") {
		err = q.findID(ctx, on)
	}
	if !j.State.Ended() {
		q.waiting = slices.DeleteFunc(q.waiting, func(w api.Waiting) bool { return w.Job == shown.ID })
		q.waiting = slices.Insert(q.waiting, 0, q.waitingForJob(j))
	}
	return err
}

// findID adds what is known of a subscription, a group or a resource, and the errors below it.
func (q *inquiry) findID(ctx context.Context, id string) error {
	path, err := pathNamed(id, "of")
	if err != nil {
		return err
	}
	known, err := q.detailOf(ctx, path)
	if err != nil {
		return err
	}
	if q.about = known.ID; q.Subject.ID == "" {
		q.Subject = api.WhySubject{Kind: "id", ID: known.ID}
	}
	state := "does not exist"
	switch {
	case known.Row != nil:
		state = "is in " + known.Row.Region + ", " + strings.Join(append([]string{known.Row.Phase}, known.Row.Flags...), ", ")
		q.regions, q.exists = append(q.regions, known.Row.Region), true
	case known.Group != nil || known.Subscription != nil:
		state, q.exists = "exists", true
	}
	q.Verdict += fmt.Sprintf("%s %s. ", lastName(known.ID), state)
	q.waiting = known.Waiting
	for _, e := range known.Events {
		q.addEvent(e, known.ID)
	}
	for _, l := range known.Locks {
		q.Known = append(q.Known, api.WhyEntry{What: "lock", Text: strings.TrimSpace(l.Level + " " + l.Notes), Link: l.ID})
	}
	q.addErrors(ctx, func(a observe.ErrorAnswer) bool {
		return strings.HasPrefix(arm.Fold(a.Path)+"/", arm.Fold(known.ID)+"/")
	})
	return nil
}

// findCorrelation adds the events and errors of requests with a correlation id, and what is
// known of the ID that the first of them changed.
func (q *inquiry) findCorrelation(ctx context.Context, id string) error {
	q.Subject = api.WhySubject{Kind: "correlation", ID: id}
	q.addErrors(ctx, func(a observe.ErrorAnswer) bool { return arm.EqualFold(a.Correlation, id) })
	changed := ""
	first, last, err := q.Store.Events.Numbers(ctx)
	for after := max(first-1, last-mostSearched); after < last && err == nil; after += largestPage {
		found, failed := q.Store.Events.KeptAfter(ctx, after, largestPage)
		for _, e := range found {
			if e.Number <= after+largestPage && arm.EqualFold(e.Cause.Correlation, id) {
				q.addEvent(eventOf(e), e.Resource)
				changed = cmp.Or(changed, e.Resource)
			}
		}
		err = failed
	}
	if err == nil && strings.HasPrefix(changed, "/subscriptions/") {
		err = q.findID(ctx, changed)
	}
	return err
}

func (q *inquiry) addEvent(e api.ResourceEvent, id string) {
	text := strings.TrimSpace(e.Action + " " + e.Status + " " + e.Detail)
	q.Known = append(q.Known, api.WhyEntry{Time: e.Time, What: "event", Text: text, By: cmp.Or(e.Name, e.Caller), CorrelationID: e.CorrelationID, Link: id})
}

// addErrors adds the error answers that match: each of this replica's last ones, and the
// newest of each group.
func (q *inquiry) addErrors(ctx context.Context, match func(observe.ErrorAnswer) bool) {
	all := q.Recent.Answers()
	groups, _ := q.Recent.Groups(ctx)
	for _, g := range groups {
		all = append(all, g.ErrorAnswer)
	}
	for _, a := range slices.DeleteFunc(all, func(a observe.ErrorAnswer) bool { return !match(a) }) {
		text := strings.TrimSpace(fmt.Sprintf("%s answered %d %s (%s) %s", a.Method, a.Status, a.Code, a.Blame, a.Message))
		q.Known = append(q.Known, api.WhyEntry{Time: a.Time, What: "error", Text: text, By: a.Caller.ID, CorrelationID: a.Correlation, Link: a.Path})
	}
}

// conclude decides the verdict and what can be done, and sorts what is known.
func (q *inquiry) conclude() {
	waits := ""
	act := func(text, command string) { q.Actions = append(q.Actions, api.WhyAction{Text: text, Command: command}) }
	for _, w := range q.waiting {
		q.Known = append(q.Known, api.WhyEntry{Time: w.Since, What: w.Reason, Text: w.Text(), Link: cmp.Or(w.Job, w.On, q.about)})
		if w.Reason == api.EventsUndelivered || w.Reason == api.NoticePending && w.On != "" {
			continue // it delays no request
		}
		waits = cmp.Or(waits, fmt.Sprintf("%s waits since %s: %s ", cmp.Or(lastName(w.On), lastName(q.about), "The job"), api.Stamp(w.Since), w.Text()))
		q.regions = append(append(q.regions, w.Region), w.WaitingFor...)
		if w.Job != "" {
			act("Try again now.", command("unstick", w.Job, "--ask"))
			act("See what giving it up would do.", command("unstick", w.Job, "--give-up", "--dry-run"))
		}
		act(w.Message, w.Command)
	}
	for _, p := range status.OfRegions(q.allRegions(), q.regions) {
		waits += fmt.Sprintf("Since %s: %s ", api.Stamp(*cmp.Or(p.Since, &q.Started)), p.Summary)
		act(p.Summary, p.Next)
	}
	q.Actions = slices.DeleteFunc(q.Actions, func(a api.WhyAction) bool { return a.Command == "" })
	slices.SortFunc(q.Known, func(a, b api.WhyEntry) int {
		return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(a.What+a.Text, b.What+b.Text))
	})
	q.Known = slices.Compact(q.Known)
	q.Known = q.Known[:min(len(q.Known), mostKnown)]
	requests := q.Subject.Kind == "correlation"
	last := slices.IndexFunc(q.Known, func(e api.WhyEntry) bool {
		return e.What == "event" && (!requests || arm.EqualFold(e.CorrelationID, q.Subject.ID))
	})
	if last < 0 && requests && len(q.Known) > 0 {
		last = 0 // they changed nothing: an error
	}
	if q.Verdict = waits + q.Verdict; last >= 0 {
		e := q.Known[last]
		q.Verdict += fmt.Sprintf("Last, at %s by %s: %s.", api.Stamp(e.Time), cmp.Or(e.By, "an unknown caller"), strings.TrimSuffix(e.Text, "."))
	}
	q.Verdict = strings.TrimSpace(q.Verdict)
}

func lastName(id string) string { return id[strings.LastIndexByte(id, '/')+1:] }
