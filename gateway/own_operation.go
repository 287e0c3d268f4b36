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
	"portico/operations"
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

// pollHere has a client poll an operation of Portico's own by its result.
func (g *Gateway) pollHere(h http.Header, link func(kind string) string) {
	h["Location"] = []string{link(operationResults)}
	g.pollAgain(h)
}

func (g *Gateway) pollAgain(h http.Header) {
	pause := max(g.config.Operations.RetryAfterMin, min(ownRetry, g.config.Operations.RetryAfterMax))
	h["Retry-After"] = []string{strconv.FormatInt(int64(pause/time.Second), 10)}
}

// deletionOf finds the job of an operation that the caller began. To anybody
// else it does not exist (async reference, Operation result rules).
func (g *Gateway) deletionOf(r *http.Request, x *exchange, c ownCall) (id string, j inventory.Job, p operations.DeletionPayload, err error) {
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
		return id, j, p, x.request.Unroutable()
	}
	if err == nil {
		p, err = operations.ReadDeletion(j)
	}
	return id, j, p, err
}

// ownResult answers as the request itself would have been answered, once it is
// known how.
func (g *Gateway) ownResult(w http.ResponseWriter, r *http.Request, x *exchange, c ownCall) error {
	_, j, p, err := g.deletionOf(r, x, c)
	switch {
	case err != nil:
		return err
	case !j.State.Ended():
		w.Header()["Location"] = []string{g.publicURI(x.request)}
		g.pollAgain(w.Header())
		return g.answer(w, x, http.StatusAccepted, nil)
	case j.State == inventory.JobDone:
		return g.answer(w, x, http.StatusOK, nil)
	}
	fault, err := faultOf(p)
	if err != nil {
		return err
	}
	return fault
}

// faultOf is the error with which a deletion ended.
func faultOf(p operations.DeletionPayload) (*storedFault, error) {
	if len(p.Fault) == 0 {
		return nil, errors.New("a deletion failed without saying why")
	}
	fault := &storedFault{body: p.Fault}
	if err := json.Unmarshal(p.Fault, fault); err != nil {
		return nil, fmt.Errorf("the error of a deletion: %w", err)
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

// operationStatus is an operation of Portico's own (async reference,
// Azure-AsyncOperation Resource format), with how far it has come at the top
// level.
type operationStatus struct {
	ID              string          `json:"id"`
	Name            string          `json:"name"`
	Status          string          `json:"status"`
	StartTime       time.Time       `json:"startTime"`
	EndTime         *time.Time      `json:"endTime,omitempty"`
	PercentComplete float64         `json:"percentComplete"`
	Total           int             `json:"total"`
	Deleted         int             `json:"deleted"`
	InFlight        int             `json:"inFlight"`
	Waiting         int             `json:"waiting"`
	Parked          int             `json:"parked"`
	Pass            int             `json:"pass"`
	WaitingFor      []string        `json:"waitingFor,omitempty"`
	Error           json.RawMessage `json:"error,omitempty"`
}

// ownStatus tells how far an operation has come, and how it ended.
func (g *Gateway) ownStatus(w http.ResponseWriter, r *http.Request, x *exchange, c ownCall) error {
	id, j, p, err := g.deletionOf(r, x, c)
	if err != nil {
		return err
	}
	s := operationStatus{
		ID: "/subscriptions/" + c.Subscription.ID + "/" + operationStatuses + "/" + id, Name: id, Status: "Deleting", StartTime: j.Created,
		Total: p.Progress.Total, Deleted: p.Progress.Deleted, InFlight: p.Progress.InFlight, Waiting: p.Progress.Waiting,
		Parked: p.Progress.Parked, Pass: p.Progress.Pass, WaitingFor: p.Progress.WaitingFor,
	}
	if s.Total > 0 {
		s.PercentComplete = 100 * float64(s.Deleted) / float64(s.Total)
	}
	if !j.State.Ended() {
		g.pollAgain(w.Header())
		return g.answer(w, x, http.StatusOK, s)
	}
	switch s.EndTime = &p.Ended; j.State {
	case inventory.JobDone:
		s.Status, s.PercentComplete = "Succeeded", 100
	case inventory.JobCancelled:
		s.Status, s.Error = "Canceled", p.Fault
	default:
		s.Status, s.Error = "Failed", p.Fault
	}
	return g.answer(w, x, http.StatusOK, s)
}
