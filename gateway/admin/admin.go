// Package admin serves the admin listener: health, metrics, profiles, and the operations
// by which operators read and change subscriptions, jobs, sweeps, doubts, fences, retired
// regions and the configuration.
//
// Package api lists the operations, routes.go names the handler of each, and there is one
// file per resource. No web page but the listener's own console may reach it, so every path
// refuses foreign hosts and origins. All paths except health, metrics and the console's
// files require an admin token, or a session started with one, and are audited.
package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"portico/arm"
	"portico/config"
	"portico/events"
	"portico/fanout"
	"portico/gateway/admin/api"
	"portico/gateway/admin/console"
	"portico/gateway/authorize"
	"portico/gateway/exchange"
	"portico/gateway/observe"
	"portico/internal/jsontext"
	"portico/inventory"
	"portico/inventory/jobrow"
	"portico/jobs"
	"portico/jobs/sweep"
	"portico/jobs/webhook"
	"portico/regions"
	"portico/upstream"
)

// Options are the dependencies of the listener.
type Options struct {
	Config     *config.Config
	Store      *inventory.Store
	Authorizer *authorize.Authorizer
	Jobs       interface {
		Nudge(kind string)
		Replicas() int
		Kinds() []string
		Describe(kind string) jobs.Description
		StoreDownSince() time.Time
	}
	// Upstream reports the health of endpoints.
	Upstream interface {
		Status(*regions.Endpoint) upstream.EndpointStatus
	}
	Lists   *fanout.Lister
	Sweeps  Sweeps
	Started time.Time
	Sinks   *webhook.Deliverer
	// Targets are the endpoints to notify of changed subscriptions.
	Targets []inventory.NotificationTarget
	// Reload reads the configuration again; nil: there is no file.
	Reload   func(context.Context) (api.Reloaded, error)
	Metrics  prometheus.Gatherer
	Draining func() bool
	// For the console: the state of the process and the sessions.
	Recent      *observe.Recent
	Traffic     *observe.Traffic
	Generations *config.History
	Sessions    *console.Sessions
	// TokensNow returns the admin tokens of the current configuration. A long request may
	// have started under an earlier one, which is then Config.
	TokensNow func() []config.AdminToken
	Attempts  *console.Attempts
	Audit     observe.Audit
	// Explain reports how a request would be handled, without sending it.
	Explain func(context.Context, api.Question) (api.Explanation, error)
	Log     *zap.Logger
}

// Sweeps orders comparisons of the index with the providers and reports their results.
type Sweeps interface {
	Order(context.Context, sweep.Order) (jobrow.Job, error)
	// OrderUncovered orders a sweep of the regions that have not been listed in full in a
	// subscription.
	OrderUncovered(ctx context.Context, subscription string) error
	Latest(context.Context) (sweep.Latest, error)
	// Uncovered lists subscriptions, after the given one, with regions that have not been
	// listed in full; UncoveredIn returns the entry of one subscription.
	Uncovered(ctx context.Context, after string, limit int) ([]sweep.Uncovered, error)
	UncoveredIn(ctx context.Context, subscription string) (sweep.Uncovered, error)
}

// listener serves the admin routes.
type listener struct {
	Options
	waiting     *feedReaders  // readers that wait for changes
	feedReads   chan struct{} // one element per reader that reads the store
	statusCheck chan struct{} // one element while problems are searched for
}

// New returns the handler of the admin listener.
func New(o Options) http.Handler {
	l := &listener{o, &feedReaders{byAddress: map[string]int{}}, make(chan struct{}, mostReading), make(chan struct{}, 1)}
	return forbidCaching(refuseAmbiguous(boundContent(l.guardHost(l.router()))))
}

// handler handles one operation. Its body is rendered as JSON.
type handler func(w http.ResponseWriter, r *http.Request) (status int, body any, err error)

// serve renders a handler's result. The cause of an unexpected error is only logged, never
// sent to the caller.
func (l *listener) serve(handle handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, body, err := handle(w, r)
		if err != nil {
			l.refuse(w, r, err)
			return
		}
		text, err := json.Marshal(body)
		if err != nil {
			l.refuse(w, r, fmt.Errorf("write an answer: %w", err))
			return
		}
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.WriteHeader(status)
		_, _ = w.Write(text) // the client may be gone
	})
}

func (l *listener) refuse(w http.ResponseWriter, r *http.Request, err error) {
	fault, ok := errors.AsType[*arm.Error](err)
	if !ok {
		fault = unexpected(err)
		l.logFailure(r, err)
	}
	fail(w, fault)
}

// unexpected returns the error to send for a failure of Portico itself, without its cause.
func unexpected(err error) *arm.Error {
	if errors.Is(err, inventory.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return arm.NewError(arm.ServiceUnavailable, "the store does not answer")
	}
	return arm.NewError(arm.InternalServerError).WithMessage("The request could not be answered. The log of this gateway says why.")
}

// recordOperator records an operator as the cause of all changes that the request makes.
func recordOperator(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cause := &events.Cause{Operator: true, Method: r.Method, URI: r.URL.Path}
		next.ServeHTTP(w, r.WithContext(events.With(r.Context(), cause)))
	})
}

func (l *listener) logFailure(r *http.Request, err error) {
	l.Log.Error("a request of the admin listener failed", zap.String("method", observe.Method(r.Method)),
		zap.String("path", observe.Path(r.URL.Path)), zap.Error(err))
}

func fail(w http.ResponseWriter, fault *arm.Error) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	exchange.SetRetryAfter(w.Header(), fault.RetryAfter)
	w.WriteHeader(fault.Status)
	_, _ = w.Write(fault.Body()) // the client may be gone
}

// maxContent is the most content that a request may have, in bytes.
const maxContent = 64 << 10

// readBody reads a request's JSON object. Absent content counts as an empty object.
func readBody(w http.ResponseWriter, r *http.Request, into any) error {
	content, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxContent))
	if err != nil {
		return exchange.Undecodable(err)
	}
	exchange.ContentArrived(w)
	if len(content) == 0 {
		return nil
	}
	if fault := exchange.ReadJSON(jsontext.WithoutMark(content), into); fault != nil {
		return fault
	}
	return nil
}

// Sizes of a page.
const (
	defaultPage = 100
	largestPage = 1000
)

// pageSize reads the limit parameter, the maximum number of elements of a page.
func pageSize(query url.Values) (int, error) {
	limit := query.Get("limit")
	if limit == "" {
		return defaultPage, nil
	}
	n, err := strconv.Atoi(limit)
	if err != nil || n < 1 || n > largestPage {
		return 0, arm.NewError(arm.InvalidQueryParameter, "limit", "it must be a number from 1 to 1000").WithTarget("limit")
	}
	return n, nil
}

// pageOf returns a page of at most limit elements. If found has more, the page links to the
// next one.
func pageOf[T, S any](path string, query url.Values, found []T, limit int, show func(T) S, after func(last T) string) api.Page[S] {
	page := listOf(found[:min(limit, len(found))], show)
	if len(found) > limit {
		page.NextLink = nextPage(path, query, after(found[limit-1]))
	}
	return page
}

// listOf returns all elements as one page.
func listOf[T, S any](elements []T, show func(T) S) api.Page[S] {
	page := api.Page[S]{Value: make([]S, 0, len(elements))}
	for _, e := range elements {
		page.Value = append(page.Value, show(e))
	}
	return page
}

// invalidPosition returns the error for an after parameter that comes from no nextLink.
func invalidPosition() *arm.Error {
	return arm.NewError(arm.InvalidQueryParameter, "after", "it must be the token of a nextLink").WithTarget("after")
}

// nextPage returns the link to the page of a list that starts after a position.
func nextPage(path string, query url.Values, after string) string {
	query.Set("after", after)
	return (&url.URL{Path: path, RawQuery: query.Encode()}).String()
}
