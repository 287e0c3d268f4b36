package polling

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"time"

	"portico/arm"
	"portico/config"
	"portico/gateway/exchange"
	"portico/inventory"
	"portico/inventory/jobrow"
	"portico/inventory/polls"
	"portico/routing"
	"portico/upstream/answers"
)

// The last but one segment of polling URLs (async reference, 202 Accepted and Location
// Headers; Azure-AsyncOperation Resource format).
const (
	Results  = "operationresults"
	Statuses = "operationStatuses"
)

// Bounds of the pause before a client polls one of Portico's own operations again: this
// part of its age, within these times.
const (
	shortestPause = time.Second
	longestPause  = 15 * time.Second
	pausesByAge   = 4
)

// Operations polls Portico's own operations. The id of an operation is a secret: it
// appears only in its URLs.
type Operations struct {
	Store    *inventory.Store
	Public   *url.URL
	Settings *config.Operations
	Jobs     Jobs
	Waits    *Waits
}

// Token returns the key under which one of Portico's own operations is recorded.
func Token(id string) string {
	sum := sha256.Sum256([]byte("own operation " + arm.Fold(id)))
	return hex.EncodeToString(sum[:])
}

// Record returns the record of the operation that a request begins.
func (o *Operations) Record(x *exchange.Exchange, s inventory.Subscription, id string) polls.Operation {
	principal := x.Principal.In(s.TenantID)
	return polls.Operation{
		Token: Token(id), Method: x.Request.Method, APIVersion: x.Request.Query.APIVersion,
		TenantID: principal.TenantID, ObjectID: principal.ObjectID, Until: o.Store.Now().Add(o.Settings.Records),
	}
}

// Accept answers a request that has begun an operation. If job ends soon, answer answers
// as a poll of the ended job would be; otherwise the client gets a 202 with the URL of
// the result. There is no status URL: clients prefer one, but its answer is a 200 even if
// the operation failed, and they lose the error's status and details.
func (o *Operations) Accept(
	w http.ResponseWriter, r *http.Request, x *exchange.Exchange, id string, job jobrow.Job, answer func(ended jobrow.Job) error,
) error {
	if job, ended := o.Await(r.Context(), x, job); ended {
		return answer(job)
	}
	scope := ""
	if job.Subscription != "" {
		scope = "/subscriptions/" + job.Subscription
	}
	o.PollAgain(w.Header(), o.Store.Now())
	return answerAccepted(w, x, answers.PublicLink(o.Public, scope+"/"+Results+"/"+id, "api-version="+x.Request.Query.APIVersion))
}

// Pending answers a poll for the result of one of Portico's own operations whose job has
// not ended.
func (o *Operations) Pending(w http.ResponseWriter, x *exchange.Exchange, job jobrow.Job) error {
	o.PollAgain(w.Header(), job.Created)
	return answerAccepted(w, x, o.urlOf(x.Request))
}

// urlOf returns the URL of a request on the front door, whatever host the client used.
func (o *Operations) urlOf(q *routing.Request) string {
	return answers.PublicLink(o.Public, q.Path.Escaped(), q.Query.Raw)
}

func answerAccepted(w http.ResponseWriter, x *exchange.Exchange, location string) error {
	w.Header()["Location"] = []string{location}
	return x.Answer(w, http.StatusAccepted, nil)
}

// PollAgain sets when to poll one of Portico's own operations that began at a given time
// again: most end soon, and the others are not worth many polls.
func (o *Operations) PollAgain(h http.Header, began time.Time) {
	setRetryAfter(h, min(pauseAt(o.Store.Now().Sub(began)), o.Settings.RetryAfterMax))
}

func pauseAt(age time.Duration) time.Duration {
	return max(shortestPause, min(age/pausesByAge, longestPause))
}

// Job finds the job of the operation that a request polls. To any caller but the one that
// began it, it does not exist (async reference, Operation result rules).
func (o *Operations) Job(r *http.Request, x *exchange.Exchange, s inventory.Subscription) (id string, j jobrow.Job, err error) {
	id = idOf(x)
	record, err := o.findRecord(r.Context(), x, s.ID, s.TenantID)
	if err == nil {
		j, err = o.Store.Jobs.Get(r.Context(), s.ID, record.Follow)
		x.Span.LinkTo(j.Trace)
	}
	if errors.Is(err, inventory.ErrNotFound) {
		return id, j, x.Request.Unroutable()
	}
	return id, j, err
}

// Began reports whether the caller began the operation that its request polls.
func (o *Operations) Began(ctx context.Context, x *exchange.Exchange) (bool, error) {
	_, err := o.findRecord(ctx, x, x.Subscription(), x.Principal.TenantID)
	if errors.Is(err, inventory.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// findRecord finds the record of the operation that a request polls, if the caller began
// it.
func (o *Operations) findRecord(ctx context.Context, x *exchange.Exchange, subscription, tenant string) (polls.Operation, error) {
	record, err := o.Store.Operations.Operation(ctx, subscription, Token(idOf(x)))
	principal := x.Principal.In(tenant)
	if err == nil && (!arm.EqualFold(record.TenantID, principal.TenantID) || record.ObjectID != principal.ObjectID) {
		err = inventory.ErrNotFound
	}
	return record, err
}

// idOf returns the id of the operation that a request polls.
func idOf(x *exchange.Exchange) string { return x.Request.Path.Segment(x.Request.Path.Len() - 1) }
