// Package probe asks providers about resources that the index does not know or is not
// sure of.
//
// A [Prober] asks whether the resource of a row still exists, and records what the answer
// proves. A [Finder] searches for a resource that has no row, in every region where its
// absence was not seen, and lets the index adopt it. An [EmptinessCheck] lists the
// collections of a resource group before the group is deleted.
//
// Only an answer counts: a region that gives none makes the question inconclusive, which
// is an error that names the region, and never an absence.
//
// A Prober and an EmptinessCheck ask as Portico itself: an answer to one caller proves
// nothing. A Finder asks on behalf of a [Caller]. The package knows neither the request
// nor the job that asks.
package probe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"portico/arm"
	"portico/internal/failpoint"
	"portico/internal/timing"
	"portico/inventory"
	"portico/regions"
	"portico/routing"
	"portico/upstream"
	"portico/upstream/answers"
)

// Prober asks providers about resources, as Portico itself.
type Prober struct {
	Map      *regions.Map
	Upstream Upstream
	Store    *inventory.Store
	Public   *url.URL      // by which providers know the front door
	Timeout  time.Duration // of one call
	Share    string        // as [upstream.Call].Caller; empty: Portico's own
	// Newest probes with the newest api-version of a row's type, not the row's own.
	Newest bool
}

// Upstream calls providers, as [upstream.Client] does.
type Upstream interface {
	Read(context.Context, upstream.Call) (upstream.Answer, error)
	Send(context.Context, upstream.Call) (upstream.Answer, error)
}

// ProbeResult is a provider's answer about a row's resource.
type ProbeResult struct {
	// Settled: the index accepted it as proof.
	Settled           bool
	Found             bool
	ProvisioningState string
	// Generation is the row's generation after the probe, zero if the answer was about
	// another one, or the row is gone.
	Generation [16]byte
	RetryAfter time.Duration // requested by the answer; 0: none
}

// Removed reports whether the probe removed the row.
func (r ProbeResult) Removed() bool { return r.Settled && !r.Found }

// Probe asks the provider for the resource of a row, with the api-version of its last
// write, and records what the answer proves. header carries the ids of the call. An error
// means that the provider gave no answer, or that the answer was not recorded.
func (p Prober) Probe(ctx context.Context, header http.Header, row inventory.Resource) (ProbeResult, error) {
	answer, err := p.Get(ctx, header, row)
	if err != nil {
		return ProbeResult{}, err
	}
	var result ProbeResult
	result.RetryAfter, _ = timing.RetryAfter(answer.Header, time.Now())
	var observation inventory.Observation
	if answer.Status == http.StatusOK {
		observation, _ = inventory.ReadObservation(answer.Body)
		result.Found, result.ProvisioningState = true, observation.ProvisioningState
	}
	failpoint.Pass(failpoint.ObserveBefore)
	result.Settled, result.Generation, err = p.Store.Observe(ctx, row.Subscription, row.Key, row.Generation, observation)
	failpoint.Pass(failpoint.ObserveAfter)
	if err != nil {
		return result, fmt.Errorf("record what an answer proves: %w", err)
	}
	return result, nil
}

// VerifyAbsence probes a resource that an answer called absent, and reports whether it
// exists. An error means that the provider gave no answer; the row is then flagged, to be
// verified later.
func (p Prober) VerifyAbsence(ctx context.Context, header http.Header, subscription, key string) (exists bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	row, err := p.Store.Resource(ctx, subscription, key)
	if errors.Is(err, inventory.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the row of a resource that is verified: %w", err)
	}
	result, err := p.Probe(ctx, header, row)
	if err == nil || row.NeedsVerify() {
		return result.Found, err
	}
	return false, errors.Join(err, p.Store.RequestVerify(context.WithoutCancel(ctx), subscription, key))
}

// Get asks the provider for the resource of a row. It returns a 200 with the resource, or
// a 404 that states that the resource does not exist; any other answer is an error.
func (p Prober) Get(ctx context.Context, header http.Header, row inventory.Resource) (upstream.Answer, error) {
	q, endpoint, err := p.Target(row)
	if err != nil {
		return upstream.Answer{}, err
	}
	answer, err := p.Read(ctx, header, endpoint, q.Path.Escaped(), q.Query.Raw)
	if err != nil || answer.Status == http.StatusNotFound && arm.ReportsAbsence(answer.Body, row.ID) {
		return answer, err
	}
	return answer, CheckShown(answer)
}

// CheckShown returns a [StatusError] for an answer that is not a 200, or whose body is
// not a readable resource: a gateway's page proves no more than its 502.
func CheckShown(answer upstream.Answer) error {
	if answer.Status == http.StatusOK {
		if _, readable := inventory.ReadObservation(answer.Body); readable {
			return nil
		}
	}
	return NewStatusError(answer.Status, answer.Header)
}

// Read sends a GET for path and query to an endpoint.
func (p Prober) Read(ctx context.Context, header http.Header, to *regions.Endpoint, path, query string) (upstream.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	header.Set("Referer", answers.Referer(p.Public, path, query))
	return p.Upstream.Read(ctx, upstream.Call{Endpoint: to, Path: path, Query: query, Header: header, Caller: p.Share})
}

// Target returns the GET of a row's resource and the endpoint that holds the resource.
func (p Prober) Target(row inventory.Resource) (*routing.Request, *regions.Endpoint, error) {
	// An ID is the decoded form of a path that was valid when it came in, so decoding it
	// again changes nothing.
	q, fault := routing.ClassifyID(p.Map, http.MethodGet, row.ID)
	switch {
	case fault != nil:
		return nil, nil, fault
	case q.Type == nil:
		return nil, nil, fmt.Errorf("the map has no type %s", row.TypeName)
	case q.Type.Endpoint(row.Region) == nil:
		return nil, nil, MissingEndpointError{row.TypeName, row.Region}
	}
	version := row.APIVersion
	if version == "" || p.Newest {
		version = q.Type.APIVersions[0]
	}
	q.Query.Raw = "api-version=" + version
	return q, q.Type.Endpoint(row.Region), nil
}

// StatusError reports an answer that proves nothing, and the pause it asked for. If its
// status is a success, its body could not be read.
type StatusError struct {
	Status     int
	RetryAfter time.Duration
}

// NewStatusError returns the error for an answer's status and header.
func NewStatusError(status int, header http.Header) StatusError {
	after, _ := timing.RetryAfter(header, time.Now())
	return StatusError{status, after}
}

func (e StatusError) Error() string {
	if e.Unreadable() {
		return fmt.Sprintf("the provider answered %d with a text that cannot be read", e.Status)
	}
	return fmt.Sprintf("the provider answered %d", e.Status)
}

// Unreadable reports whether the status is a success, whose body could not be read.
func (e StatusError) Unreadable() bool {
	return e.Status >= http.StatusOK && e.Status < http.StatusMultipleChoices
}

// MissingEndpointError reports that the map has no endpoint for the region of a resource.
type MissingEndpointError struct{ TypeName, Region string }

func (e MissingEndpointError) Error() string {
	return fmt.Sprintf("the map has no endpoint for %s in %s", e.TypeName, e.Region)
}

// MissingRegionRemedy returns what an operator can do about a region that work waits for
// and that the map lacks.
func MissingRegionRemedy(region string) string {
	return "Configure the location '" + region + "' again; or, where it is gone for good, have an operator retire it: portico retire " + region
}
