package operations

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"portico/arm"
	"portico/failpoint"
	"portico/fanout"
	"portico/inventory"
	"portico/regions"
	"portico/routing"
	"portico/upstream"
)

// Asker asks providers about rows of the index.
type Asker struct {
	Map      *regions.Map
	Upstream *upstream.Client
	Store    *inventory.Store
	Public   *url.URL      // under which providers know the front door
	Timeout  time.Duration // of one question
	Caller   string        // whose share of an endpoint's calls it uses; empty: Portico's own

	newest bool // asks with the newest api-version of the row's type
}

// Sight is what a provider said of a row's resource.
type Sight struct {
	// Settled: the index took it as proof.
	Settled           bool
	Found             bool
	ProvisioningState string
	// Generation is the row's after that, zero where the answer was about another
	// one, or the row has gone.
	Generation [16]byte
	RetryAfter time.Duration // that the answer asked for; 0: none
}

// Ask asks the provider whether the resource of a row is there, and tells the
// inventory; see [Asker.Look]. gone reports that the row was removed.
func (a Asker) Ask(ctx context.Context, header http.Header, row inventory.Resource) (gone bool, err error) {
	sight, err := a.Look(ctx, header, row)
	return sight.Settled && !sight.Found, err
}

// Look asks the provider for the resource of a row, with the api-version by
// which it was written, and tells the inventory what it says. header carries
// the ids and the caller on whose behalf it asks. An error means that the
// provider did not say, or the inventory did not listen.
func (a Asker) Look(ctx context.Context, header http.Header, row inventory.Resource) (Sight, error) {
	q, endpoint, err := a.question(row)
	if err != nil {
		return Sight{}, err
	}
	answer, err := a.read(ctx, header, endpoint, q.Path.Escaped(), q.Query.Raw)
	if err != nil {
		return Sight{}, err
	}
	var sight Sight
	sight.RetryAfter, _ = upstream.RetryAfter(answer.Header, time.Now())
	var observation inventory.Observation
	switch answer.Status {
	case http.StatusOK:
		observation = inventory.ReadObservation(answer.Body)
		sight.Found, sight.ProvisioningState = true, observation.ProvisioningState
	case http.StatusNotFound:
		if !arm.SaysAbsent(answer.Body, row.ID) {
			return Sight{}, statusOf(answer)
		}
	default:
		return Sight{}, statusOf(answer)
	}
	failpoint.Pass(failpoint.ObserveBefore)
	sight.Settled, sight.Generation, err = a.Store.Observe(ctx, row.Subscription, row.Key, row.Generation, observation)
	failpoint.Pass(failpoint.ObserveAfter)
	return sight, err
}

// read sends a GET for path and query to an endpoint.
func (a Asker) read(ctx context.Context, header http.Header, to *regions.Endpoint, path, query string) (upstream.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, a.Timeout)
	defer cancel()
	// Providers put their own token behind it, in the place of any other.
	header.Set("Referer", fanout.PublicLink(a.Public, path, routing.Query{Raw: query}.Without("$skipToken")))
	return a.Upstream.Read(ctx, upstream.Call{Endpoint: to, Path: path, Query: query, Header: header, Caller: a.Caller})
}

// statusError is an answer from which nothing can be learnt, and the pause that
// it asked for.
type statusError struct {
	status int
	after  time.Duration
}

func statusOf(answer upstream.Answer) statusError {
	after, _ := upstream.RetryAfter(answer.Header, time.Now())
	return statusError{answer.Status, after}
}

func (e statusError) Error() string { return fmt.Sprintf("the provider answered %d", e.status) }

// later is what an attempt comes to whose question failed: the provider knows
// best when to come back, if it says so.
func later(err error, floor time.Duration) (Verdict, error) {
	var said statusError
	if errors.As(err, &said) && said.after > 0 {
		return Verdict{Again: max(floor, min(said.after, longestAsked))}, err
	}
	return Verdict{}, err
}

// absentEndpoint is the lack of an endpoint that holds, or held, a resource.
type absentEndpoint struct{ typeName, region string }

func (e absentEndpoint) Error() string {
	return fmt.Sprintf("the map has no endpoint for %s in %s", e.typeName, e.region)
}

// question builds the GET of a row's resource and finds the endpoint that holds
// it.
func (a Asker) question(row inventory.Resource) (*routing.Request, *regions.Endpoint, error) {
	// An ID is the decoded form of a path that was legal when it came in, so it
	// holds nothing that decoding it again could change.
	q, fault := routing.ClassifyID(a.Map, http.MethodGet, row.ID)
	switch {
	case fault != nil:
		return nil, nil, fault
	case q.Type == nil:
		return nil, nil, fmt.Errorf("the map has no type %s", row.TypeName)
	case q.Type.Endpoint(row.Region) == nil:
		return nil, nil, absentEndpoint{row.TypeName, row.Region}
	}
	version := row.APIVersion
	if version == "" || a.newest {
		version = q.Type.APIVersions[0]
	}
	q.Query.Raw = "api-version=" + version
	return q, q.Type.Endpoint(row.Region), nil
}
