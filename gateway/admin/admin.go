// Package admin answers the admin listener: health, metrics and profiles, and what
// operators see and change: subscriptions, jobs, sweeps, doubts, fences, retired
// regions, the configuration.
//
// Package api lists the operations; routes.go names the handler of each, and a file per
// resource has its handlers and its JSON. The listener must be unreachable for web pages
// but its own console, so it refuses foreign hosts and origins on every path; all but
// health, metrics and the console's files asks for a token, or a session that was begun
// with one, and is audited.
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

// Options are what the listener shows and changes.
type Options struct {
	Config *config.Config
	Store  *inventory.Store
	// Authorizer knows who may do what.
	Authorizer *authorize.Authorizer
	Jobs       interface {
		Nudge(kind string)
		Replicas() int
		Kinds() []string
		Describe(kind string) jobs.Description
		StoreDownSince() time.Time
	}
	// Upstream knows how endpoints do.
	Upstream interface {
		Status(*regions.Endpoint) upstream.EndpointStatus
	}
	Sweeps  Sweeps
	Started time.Time
	Sinks   *webhook.Deliverer
	// Targets are the endpoints that must learn of changed subscriptions.
	Targets []inventory.NotificationTarget
	// Reload reads the configuration again; nil: there is no file.
	Reload   func(context.Context) (api.Reloaded, error)
	Metrics  prometheus.Gatherer
	Draining func() bool
	// What the console shows of the process, and who is signed in to it.
	Recent      *observe.Recent
	Traffic     *observe.Traffic
	Generations *config.History
	Sessions    *console.Sessions
	// TokensNow are the admin tokens of the configuration that is in use now. A request
	// that lasts may have begun under an earlier one, which Config is.
	TokensNow func() []config.AdminToken
	Attempts  *console.Attempts
	Audit     observe.Audit
	// Explain says which way a request would take.
	Explain func(context.Context, api.Question) (api.Explanation, error)
	Log     *zap.Logger
}

// Sweeps orders comparisons of the index with the providers, and knows the latest one.
type Sweeps interface {
	Order(context.Context, sweep.Order) (jobrow.Job, error)
	// OrderUncovered orders one where a subscription's absences were not seen.
	OrderUncovered(ctx context.Context, subscription string) error
	Latest(context.Context) (sweep.Latest, error)
	// Uncovered lists where absences were not seen, behind a subscription; UncoveredIn
	// returns that of one.
	Uncovered(ctx context.Context, after string, limit int) ([]sweep.Uncovered, error)
	UncoveredIn(ctx context.Context, subscription string) (sweep.Uncovered, error)
}

// listener answers requests with its options.
type listener struct {
	Options
	// Readers of the change feed that wait, and those that read the store.
	waiting *places
	reading chan struct{}
	looking chan struct{} // held while what is wrong is looked for
}

// New returns the handler of the admin listener.
func New(o Options) http.Handler {
	l := &listener{o, &places{by: map[string]int{}}, make(chan struct{}, mostReading), make(chan struct{}, 1)}
	return keepFromCaches(refuseAmbiguous(boundContent(l.guardHost(l.router()))))
}

// handler answers a request with a body in JSON, or with an error.
type handler func(w http.ResponseWriter, r *http.Request) (status int, body any, err error)

// serve renders what a handler returns. The cause of an error that is not the
// caller's goes to the log alone.
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

// unexpected returns the error for what a handler could not do, without the cause.
func unexpected(err error) *arm.Error {
	if errors.Is(err, inventory.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return arm.NewError(arm.ServiceUnavailable, "the store does not answer")
	}
	return arm.NewError(arm.InternalServerError).Saying("The request could not be answered. The log of this gateway says why.")
}

// byOperator says that an operator causes what the request changes.
func byOperator(next http.Handler) http.Handler {
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

// readBody reads a request's JSON object; no content at all is an empty one.
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

// pageSize reads how much a page is to hold at most.
func pageSize(query url.Values) (int, error) {
	limit := query.Get("limit")
	if limit == "" {
		return defaultPage, nil
	}
	n, err := strconv.Atoi(limit)
	if err != nil || n < 1 || n > largestPage {
		return 0, arm.NewError(arm.InvalidQueryParameter, "limit", "it is a number from 1 to 1000").About("limit")
	}
	return n, nil
}

// pageOf shows at most limit elements; where there is one more it links to the page behind
// the last one shown.
func pageOf[T, S any](path string, query url.Values, found []T, limit int, show func(T) S, after func(last T) string) api.Page[S] {
	page := listOf(found[:min(limit, len(found))], show)
	if len(found) > limit {
		page.NextLink = nextPage(path, query, after(found[limit-1]))
	}
	return page
}

// listOf shows elements.
func listOf[T, S any](elements []T, show func(T) S) api.Page[S] {
	page := api.Page[S]{Value: make([]S, 0, len(elements))}
	for _, e := range elements {
		page.Value = append(page.Value, show(e))
	}
	return page
}

// notOfALink refuses a position in a list that no page has linked to.
func notOfALink() *arm.Error {
	return arm.NewError(arm.InvalidQueryParameter, "after", "it is that of a nextLink").About("after")
}

// nextPage is the link to the page of a list that begins behind a position.
func nextPage(path string, query url.Values, after string) string {
	query.Set("after", after)
	return (&url.URL{Path: path, RawQuery: query.Encode()}).String()
}
