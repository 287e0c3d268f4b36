package groups

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"portico/gateway/exchange"
	"portico/gateway/frontdoor/route"
	"portico/gateway/polling"
	"portico/inventory/jobrow"
	"portico/jobs"
	"portico/jobs/deletion/deletionplan"
	"portico/jobs/groupdelete"
	"portico/jobs/move"
	"portico/jobs/move/moveplan"
	"portico/probe"
	"portico/regions"
)

// Operations serves the operations that clients poll during a deletion or a move.
type Operations struct {
	Polls *polling.Operations
	Map   *regions.Map
}

// readOperations is the action of polling another caller's operation, which finds
// nothing: the caller that began an operation needs no role to poll it.
const readOperations = "Microsoft.Resources/subscriptions/operationresults/read"

// Routes returns the routes of an operation's result and of its status.
func (g Operations) Routes() []route.Route {
	return []route.Route{
		{Method: http.MethodGet, Path: "/subscriptions/{s}/operationresults/{id}", Action: readOperations, Excused: g.Polls.Began, Handle: g.result},
		{Method: http.MethodGet, Path: "/subscriptions/{s}/operationstatuses/{id}", Action: readOperations, Excused: g.Polls.Began, Handle: g.status},
	}
}

// job is the job of an operation with the contents of its payload.
type job struct {
	jobrow.Job
	success int    // the status with which the request would have been answered
	running string // the operation's state until it ends
	ended   time.Time
	fault   json.RawMessage
	// status adds what only this kind of operation shows.
	status func(operationHead) any
	share  float64 // of the work that is done
}

// jobOf finds the job of the operation that a request polls and reads its payload.
func (g Operations) jobOf(r *http.Request, x *exchange.Exchange, req route.Request) (id string, j job, err error) {
	if id, j.Job, err = g.Polls.Job(r, x, req.Subscription); err == nil {
		err = j.readPayload(g.Map)
	}
	return id, j, err
}

func (j *job) readPayload(m *regions.Map) error {
	if moves, judgesOnly := move.Of(j.Job); moves {
		p, err := move.ReadPayload(j.Job)
		if err != nil {
			return fmt.Errorf("read the job of a move: %w", err)
		}
		j.success, j.running, j.ended, j.fault, j.share = http.StatusNoContent, "Moving", p.Ended, p.Fault,
			shareOf(p.Progress.Moved+p.Progress.Failed, p.Progress.Total)
		if judgesOnly {
			j.running = "Validating"
		}
		j.status = func(head operationHead) any { return moveStatus{head, p.Progress} }
		return nil
	}
	p, err := groupdelete.ReadPayload(j.Job)
	if err != nil {
		return fmt.Errorf("read the job of a group's deletion: %w", err)
	}
	j.success, j.running, j.ended, j.fault, j.share = http.StatusOK, "Deleting", p.Ended, p.Fault, shareOf(p.Progress.Deleted, p.Progress.Total)
	j.status = func(head operationHead) any {
		status := operationStatus{operationHead: head, Summary: p.Progress}
		if head.EndTime == nil {
			status.Waits = p.Waits
		}
		if !j.State.Ended() && head.Message == "" {
			status.Message = remedies(m, p.Progress.WaitingFor)
		}
		return status
	}
	return nil
}

func shareOf(done, total int) float64 {
	if total == 0 {
		return 0
	}
	return float64(done) / float64(total)
}

// result answers as the request itself would have been answered, once its job has ended.
func (g Operations) result(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	_, j, err := g.jobOf(r, x, req)
	switch {
	case err != nil:
		return err
	case !j.State.Ended():
		return g.Polls.Pending(w, x, j.Job)
	}
	return j.answer(w, x)
}

// answerOf returns a function that answers the request that began an operation from its
// ended job.
func answerOf(w http.ResponseWriter, x *exchange.Exchange) func(jobrow.Job) error {
	return func(ended jobrow.Job) error {
		j := job{Job: ended}
		if err := j.readPayload(nil); err != nil { // only the status of a running job needs the map
			return err
		}
		return j.answer(w, x)
	}
}

func (j *job) answer(w http.ResponseWriter, x *exchange.Exchange) error {
	if j.State == jobrow.Done {
		return x.Answer(w, j.success, nil)
	}
	fault, err := j.failure()
	if err != nil {
		return err
	}
	return fault
}

func (j *job) failure() (*exchange.StoredError, error) {
	if len(j.fault) == 0 {
		return nil, fmt.Errorf("a %s failed without an error", j.Kind)
	}
	fault, err := exchange.ReadStoredError(j.fault)
	if err != nil {
		return nil, fmt.Errorf("the error of a %s: %w", j.Kind, err)
	}
	return fault, nil
}

// operationHead is one of Portico's own operations (async reference, Azure-AsyncOperation
// Resource format).
type operationHead struct {
	ID              string          `json:"id"`
	Name            string          `json:"name"`
	Status          string          `json:"status"`
	StartTime       time.Time       `json:"startTime"`
	EndTime         *time.Time      `json:"endTime,omitempty"`
	PercentComplete float64         `json:"percentComplete"`
	Error           json.RawMessage `json:"error,omitempty"`
	// Message explains what becomes of the operation, or what an operator has to do for
	// it to continue.
	Message string `json:"message,omitempty"`
}

// operationStatus is the status of a group's deletion, with its progress at the top
// level; moveStatus is a move's.
type (
	operationStatus struct {
		operationHead
		deletionplan.Summary
		// Waits are what it waits for, each with why and until when at the latest. They are
		// no properties, which only an operation that has succeeded has.
		Waits []deletionplan.Wait `json:"waits,omitempty"`
	}
	moveStatus struct {
		operationHead
		moveplan.Summary
	}
)

// status answers with the progress of an operation, or with its outcome.
func (g Operations) status(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	id, j, err := g.jobOf(r, x, req)
	if err != nil {
		return err
	}
	head := operationHead{
		ID: "/subscriptions/" + req.Subscription.ID + "/" + polling.Statuses + "/" + id, Name: id, Status: j.running,
		StartTime: j.Created, PercentComplete: 100 * j.share,
	}
	if j.State == jobrow.Cancelling {
		head.Status, head.Message = "Canceling", jobs.BeingCanceled
	}
	if !j.State.Ended() {
		g.Polls.PollAgain(w.Header(), j.Created)
		return x.Answer(w, http.StatusOK, j.status(head))
	}
	switch head.EndTime = &j.ended; j.State {
	case jobrow.Done:
		head.Status, head.PercentComplete = "Succeeded", 100
	case jobrow.Cancelled:
		head.Status, head.Error = "Canceled", j.fault
	default:
		head.Status, head.Error = "Failed", j.fault
	}
	return x.Answer(w, http.StatusOK, j.status(head))
}

// remedies returns what operators can do about waiting regions that the map lacks; "" if
// it has them all.
func remedies(m *regions.Map, waiting []string) string {
	var ways []string
	for _, region := range waiting {
		if !m.HasRegion(region) {
			ways = append(ways, "The map no longer has the location '"+region+"'. "+probe.MissingRegionRemedy(region)+".")
		}
	}
	return strings.Join(ways, " ")
}
