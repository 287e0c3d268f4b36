package admin

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gorilla/mux"

	"portico/arm"
	"portico/gateway/admin/api"
	"portico/inventory"
	"portico/inventory/jobrow"
	"portico/jobs"
)

// jobOf returns a job for the answer. Of its payload it has only the progress and what the
// job's kind reports: the rest may hold data that only the job's own calls may use.
func (l *listener) jobOf(j jobrow.Job) api.Job {
	kind := l.Jobs.Describe(j.Kind)
	standing := kind.Progress(j)
	shown := api.Job{
		ID: j.Name(), Kind: j.Kind, Subscription: j.Subscription, Subject: j.Subject, On: standing.On, State: j.State.String(), Owner: j.Owner,
		Attempts: j.Attempts, Created: j.Created, Changed: j.Changed, Progress: progressOf(j), Parts: kind.Remaining != nil, Deployment: kind.Breakdown != nil,
		Cancellable: kind.Cancellable && j.State == jobrow.Waiting, Command: command(kind.Command(j)...),
	}
	if standing.Of > 0 {
		shown.Steps = &api.Steps{Done: standing.Done, Of: standing.Of}
	}
	if !j.State.Ended() {
		shown.WaitingFor, shown.Outcome = standing.WaitingFor, standing.Outcome
		shown.Due = &j.Due
		shown.Until, shown.Limit = untilOf(kind, j), kind.LimitSetting
	}
	return shown
}

// untilOf returns when a job should have ended, or nil if its kind has no limit.
func untilOf(kind jobs.Description, j jobrow.Job) *time.Time {
	if kind.Limit <= 0 {
		return nil
	}
	until := j.Created.Add(kind.Limit)
	return &until
}

func (l *listener) listJobKinds(http.ResponseWriter, *http.Request) (int, any, error) {
	return http.StatusOK, listOf(l.Jobs.Kinds(), func(name string) api.JobKind {
		kind := l.Jobs.Describe(name)
		return api.JobKind{Kind: name, Cancellable: kind.Cancellable, Parts: kind.Remaining != nil, Limit: kind.LimitSetting}
	}), nil
}

// progressOf returns the progress in a job's payload, or nil.
func progressOf(j jobrow.Job) json.RawMessage {
	var payload struct {
		Progress json.RawMessage `json:"progress"`
	}
	if json.Unmarshal([]byte(j.Payload), &payload) != nil {
		return nil
	}
	return payload.Progress
}

// listJobs lists the jobs of ?kind= in ?state=, or all: at most ?limit= after ?after=.
func (l *listener) listJobs(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	query := r.URL.Query()
	wanted := jobrow.Query{Kind: query.Get("kind"), State: query.Get("state"), After: query.Get("after")}
	var err error
	if wanted.Limit, err = pageSize(query); err != nil {
		return 0, nil, err
	}
	for name, allowed := range map[string][]string{"kind": l.Jobs.Kinds(), "state": slices.Sorted(maps.Keys(jobrow.Filters))} {
		if value := query.Get(name); value != "" && !slices.Contains(allowed, value) {
			return 0, nil, arm.NewError(arm.InvalidQueryParameter, name, "it must be one of "+strings.Join(allowed, ", ")).WithTarget(name)
		}
	}
	wanted.Limit++ // is there more?
	found, err := l.Store.Jobs.List(r.Context(), wanted)
	if errors.Is(err, jobrow.ErrNoPlace) {
		return 0, nil, invalidPosition()
	}
	if err != nil {
		return 0, nil, fmt.Errorf("list jobs: %w", err)
	}
	page := pageOf("/admin/jobs", query, found, wanted.Limit-1, l.jobOf, func(last jobrow.Job) string { return last.Place() })
	return http.StatusOK, page, nil
}

// getJob shows one job with its history.
func (l *listener) getJob(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	j, err := l.namedJob(r)
	if err != nil {
		return 0, nil, err
	}
	steps, err := l.Store.Jobs.History(r.Context(), j.Subscription, j.ID)
	shown := l.jobOf(j)
	for _, s := range steps {
		shown.History = append(shown.History, api.JobStep(s))
	}
	return http.StatusOK, shown, err
}

func (l *listener) namedJob(r *http.Request) (jobrow.Job, error) {
	sub, id, err := jobrow.ParseName(mux.Vars(r)["id"])
	if err != nil {
		return jobrow.Job{}, noJob()
	}
	j, err := l.Store.Jobs.Get(r.Context(), sub, id)
	if errors.Is(err, inventory.ErrNotFound) {
		return jobrow.Job{}, noJob()
	}
	return j, err
}

func noJob() *arm.Error {
	return arm.NewError(arm.ResourceNotFound, "", "").WithMessage("There is no such job.")
}

// cancelJob cancels a job. Jobs that verify the index cannot be cancelled: they end when the
// index is sure.
func (l *listener) cancelJob(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	j, err := l.namedJob(r)
	if err != nil {
		return 0, nil, err
	}
	if !l.Jobs.Describe(j.Kind).Cancellable {
		return 0, nil, arm.NewError(arm.Conflict).WithMessage("Jobs of this kind cannot be cancelled.")
	}
	err = l.Store.CancelJob(r.Context(), j.Subscription, j.ID)
	switch {
	case errors.Is(err, inventory.ErrNotFound):
		return 0, nil, noJob()
	case errors.Is(err, jobrow.ErrEnded):
		return 0, nil, arm.NewError(arm.Conflict).WithMessage("The job has ended.")
	case err != nil:
		return 0, nil, err
	}
	if j, err = l.Store.Jobs.Get(r.Context(), j.Subscription, j.ID); err != nil {
		return 0, nil, fmt.Errorf("read a canceled job: %w", err)
	}
	return http.StatusAccepted, l.jobOf(j), nil
}
