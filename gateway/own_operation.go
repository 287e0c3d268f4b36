package gateway

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"portico/arm"
	"portico/inventory"
	"portico/operations/groupdelete"
	"portico/operations/move"
)

// The forms in which operations of Portico's own are polled (async reference,
// 202 Accepted and Location Headers; Azure-AsyncOperation Resource format).
const (
	operationResults  = "operationresults"
	operationStatuses = "operationStatuses"
)

// ownRetry is when clients are to poll again.
const ownRetry = 15 * time.Second

// ownToken is the key under which an operation of Portico's own is recorded.
func ownToken(id string) string {
	sum := sha256.Sum256([]byte("own operation " + arm.Fold(id)))
	return hex.EncodeToString(sum[:])
}

// pollHere has a client poll an operation of Portico's own by its result alone:
// clients prefer a status where one is named, whose answer is a 200 all the same
// when the operation failed, and then have neither the error's status nor its
// details.
func (g *Gateway) pollHere(h http.Header, link func(kind string) string) {
	h["Location"] = []string{link(operationResults)}
	g.pollAgain(h)
}

func (g *Gateway) pollAgain(h http.Header) {
	pause := max(g.config.Operations.RetryAfterMin, min(ownRetry, g.config.Operations.RetryAfterMax))
	h["Retry-After"] = []string{strconv.FormatInt(int64(pause/time.Second), 10)}
}

// ownJob is the job of an operation, whatever it does.
type ownJob struct {
	inventory.Job
	success int    // the status with which the request would have been answered
	running string // the operation's state while it is
	ended   time.Time
	fault   json.RawMessage
	// status is the operation with what is told of its kind alone.
	status func(operationHead) any
	share  float64 // of the work that is done
}

// callersJob finds the job of an operation that the caller began. To anybody else
// it does not exist (async reference, Operation result rules).
func (g *Gateway) callersJob(r *http.Request, x *exchange, c ownCall) (id string, j inventory.Job, err error) {
	id = x.request.Path.Segment(x.request.Path.Len() - 1)
	o, err := g.store.Operation(r.Context(), c.Subscription.ID, ownToken(id))
	principal := x.principal.In(c.Subscription.TenantID)
	if err == nil && (!arm.EqualFold(o.TenantID, principal.TenantID) || o.ObjectID != principal.ObjectID) {
		err = inventory.ErrNotFound
	}
	if err == nil {
		j, err = g.store.Job(r.Context(), c.Subscription.ID, o.Follow)
	}
	if errors.Is(err, inventory.ErrNotFound) {
		return id, j, x.request.Unroutable()
	}
	return id, j, err
}

// jobOf is callersJob with what its kind tells.
func (g *Gateway) jobOf(r *http.Request, x *exchange, c ownCall) (id string, j ownJob, err error) {
	if id, j.Job, err = g.callersJob(r, x, c); err == nil {
		err = j.read(g)
	}
	return id, j, err
}

// notEnded answers a poll for the result of what is under way.
func (g *Gateway) notEnded(w http.ResponseWriter, x *exchange) error {
	w.Header()["Location"] = []string{g.publicURI(x.request)}
	g.pollAgain(w.Header())
	return g.answer(w, x, http.StatusAccepted, nil)
}

func (j *ownJob) read(g *Gateway) error {
	switch j.Kind {
	case inventory.MoveJob, inventory.ValidateMoveJob:
		p, err := move.ReadPayload(j.Job)
		if err != nil {
			return err
		}
		j.success, j.running, j.ended, j.fault, j.share = http.StatusNoContent, "Moving", p.Ended, p.Fault, shareOf(p.Progress.Moved+p.Progress.Failed, p.Progress.Total)
		if j.Kind == inventory.ValidateMoveJob {
			j.running = "Validating"
		}
		j.status = func(head operationHead) any { return moveStatus{head, p.Progress} }
		return nil
	}
	p, err := groupdelete.ReadPayload(j.Job)
	if err != nil {
		return err
	}
	j.success, j.running, j.ended, j.fault, j.share = http.StatusOK, "Deleting", p.Ended, p.Fault, shareOf(p.Progress.Deleted, p.Progress.Total)
	j.status = func(head operationHead) any {
		status := operationStatus{operationHead: head, Progress: p.Progress}
		if head.EndTime == nil && len(p.Waits) > 0 {
			status.Properties = &deletionWaits{p.Waits}
		}
		if !j.State.Ended() {
			status.Message = g.waysOut(p.Progress.WaitingFor)
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

// ownResult answers as the request itself would have been answered, once it is
// known how.
func (g *Gateway) ownResult(w http.ResponseWriter, r *http.Request, x *exchange, c ownCall) error {
	_, j, err := g.jobOf(r, x, c)
	switch {
	case err != nil:
		return err
	case !j.State.Ended():
		return g.notEnded(w, x)
	case j.State == inventory.JobDone:
		return g.answer(w, x, j.success, nil)
	}
	fault, err := j.failure()
	if err != nil {
		return err
	}
	return fault
}

// failure is the error with which a job ended.
func (j *ownJob) failure() (*storedFault, error) {
	if len(j.fault) == 0 {
		return nil, fmt.Errorf("a %s failed without saying why", j.Kind)
	}
	fault := &storedFault{body: j.fault}
	if err := json.Unmarshal(j.fault, fault); err != nil {
		return nil, fmt.Errorf("the error of a %s: %w", j.Kind, err)
	}
	return fault, nil
}

// storedFault is an error as a job stored it.
type storedFault struct {
	Code    arm.Code `json:"code"`
	Message string   `json:"message"`

	body json.RawMessage
}

// envelope is the error as clients get it.
func (f *storedFault) envelope() []byte {
	return slices.Concat([]byte(`{"error":`), f.body, []byte(`}`))
}

func (f *storedFault) Error() string { return string(f.Code) + ": " + f.Message }

// operationHead is an operation of Portico's own (async reference,
// Azure-AsyncOperation Resource format).
type operationHead struct {
	ID              string          `json:"id"`
	Name            string          `json:"name"`
	Status          string          `json:"status"`
	StartTime       time.Time       `json:"startTime"`
	EndTime         *time.Time      `json:"endTime,omitempty"`
	PercentComplete float64         `json:"percentComplete"`
	Error           json.RawMessage `json:"error,omitempty"`
}

// operationStatus is the deletion of a group, with how far it has come at the top
// level, and moveStatus is a move.
type (
	operationStatus struct {
		operationHead
		groupdelete.Progress
		Properties *deletionWaits `json:"properties,omitempty"`
		// Message says what an operator has to do for it to go on.
		Message string `json:"message,omitempty"`
	}
	moveStatus struct {
		operationHead
		move.Progress
	}
)

// deletionWaits is what a deletion waits for, each with why and until when at the
// latest.
type deletionWaits struct {
	WaitingFor []groupdelete.Wait `json:"waitingFor"`
}

// ownStatus tells how far an operation has come, and how it ended.
func (g *Gateway) ownStatus(w http.ResponseWriter, r *http.Request, x *exchange, c ownCall) error {
	id, j, err := g.jobOf(r, x, c)
	if err != nil {
		return err
	}
	head := operationHead{
		ID: "/subscriptions/" + c.Subscription.ID + "/" + operationStatuses + "/" + id, Name: id, Status: j.running,
		StartTime: j.Created, PercentComplete: 100 * j.share,
	}
	if !j.State.Ended() {
		g.pollAgain(w.Header())
		return g.answer(w, x, http.StatusOK, j.status(head))
	}
	switch head.EndTime = &j.ended; j.State {
	case inventory.JobDone:
		head.Status, head.PercentComplete = "Succeeded", 100
	case inventory.JobCancelled:
		head.Status, head.Error = "Canceled", j.fault
	default:
		head.Status, head.Error = "Failed", j.fault
	}
	return g.answer(w, x, http.StatusOK, j.status(head))
}
