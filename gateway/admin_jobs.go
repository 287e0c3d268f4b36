package gateway

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/gorilla/mux"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/inventory"
)

// Sizes of a page of jobs, or of doubts.
const (
	adminPage     = 100
	mostAdminPage = 1000
)

// adminLimit reads how much a page is to hold at most.
func adminLimit(query url.Values) (int, error) {
	limit := query.Get("limit")
	if limit == "" {
		return adminPage, nil
	}
	n, err := strconv.Atoi(limit)
	if err != nil || n < 1 || n > mostAdminPage {
		return 0, arm.NewError(arm.InvalidQueryParameter, "limit", "it is a number from 1 to 1000").About("limit")
	}
	return n, nil
}

// adminJob is a job as operators see it. Of its payload only the progress is
// shown: the rest may name what only the job's own calls may use.
type adminJob struct {
	ID           string          `json:"id"`
	Kind         string          `json:"kind"`
	Subscription string          `json:"subscription,omitempty"`
	Subject      string          `json:"subject"`
	State        string          `json:"state"`
	Due          *time.Time      `json:"due,omitempty"`   // of one that has not ended
	Owner        string          `json:"owner,omitempty"` // who works on it, until due
	Attempts     int64           `json:"attempts"`
	Created      time.Time       `json:"created"`
	Changed      time.Time       `json:"changed"`
	Progress     json.RawMessage `json:"progress,omitempty"`
}

func adminJobOf(j inventory.Job) adminJob {
	shown := adminJob{
		ID: j.Name(), Kind: j.Kind, Subscription: j.Subscription, Subject: j.Subject, State: j.State.String(), Owner: j.Owner,
		Attempts: j.Attempts, Created: j.Created, Changed: j.Changed,
	}
	if !j.State.Ended() {
		shown.Due = &j.Due
	}
	var payload struct {
		Progress json.RawMessage `json:"progress"`
	}
	if json.Unmarshal([]byte(j.Payload), &payload) == nil {
		shown.Progress = payload.Progress
	}
	return shown
}

// adminJobs lists jobs: those of ?kind=, at most ?limit= of them, behind ?after=
// (the id of a job).
func (g *Gateway) adminJobs(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	query := r.URL.Query()
	wanted := inventory.JobQuery{Kind: query.Get("kind")}
	var err error
	if wanted.Limit, err = adminLimit(query); err != nil {
		return 0, nil, err
	}
	if after := query.Get("after"); after != "" {
		if wanted.AfterSubscription, wanted.AfterID, err = inventory.ParseJobName(after); err != nil {
			return 0, nil, arm.NewError(arm.InvalidQueryParameter, "after", "it is the id of a job").About("after")
		}
	}
	wanted.Limit++ // is there more?
	jobs, err := g.store.Jobs(r.Context(), wanted)
	if err != nil {
		return 0, nil, err
	}
	page := exchange.List{Value: make([]any, 0, len(jobs))}
	for i, j := range jobs {
		if i == wanted.Limit-1 {
			query.Set("after", jobs[i-1].Name())
			page.NextLink = (&url.URL{Path: "/admin/jobs", RawQuery: query.Encode()}).String()
			break
		}
		page.Value = append(page.Value, adminJobOf(j))
	}
	return http.StatusOK, page, nil
}

// adminJob shows one job.
func (g *Gateway) adminJob(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	j, err := g.namedJob(r)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, adminJobOf(j), nil
}

func (g *Gateway) namedJob(r *http.Request) (inventory.Job, error) {
	sub, id, err := inventory.ParseJobName(mux.Vars(r)["id"])
	if err != nil {
		return inventory.Job{}, noJob()
	}
	j, err := g.store.Job(r.Context(), sub, id)
	if errors.Is(err, inventory.ErrNotFound) {
		return inventory.Job{}, noJob()
	}
	return j, err
}

func noJob() *arm.Error {
	return arm.NewError(arm.ResourceNotFound, "", "").Saying("There is no such job.")
}

// adminCancelJob has a job end early. What keeps the index true cannot be
// called off: it ends with the doubt that it stands for.
func (g *Gateway) adminCancelJob(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	j, err := g.namedJob(r)
	if err != nil {
		return 0, nil, err
	}
	if j.Kind == inventory.VerifyJob || j.Kind == inventory.FollowJob || j.Kind == inventory.FenceJob {
		return 0, nil, arm.NewError(arm.Conflict).Saying("Jobs of this kind cannot be cancelled.")
	}
	err = g.store.CancelJob(r.Context(), j.Subscription, j.ID)
	switch {
	case errors.Is(err, inventory.ErrNotFound):
		return 0, nil, noJob()
	case errors.Is(err, inventory.ErrJobEnded):
		return 0, nil, arm.NewError(arm.Conflict).Saying("The job has ended.")
	case err != nil:
		return 0, nil, err
	}
	if j, err = g.store.Job(r.Context(), j.Subscription, j.ID); err != nil {
		return 0, nil, err
	}
	return http.StatusAccepted, adminJobOf(j), nil
}
