package operations

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

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
}

// Ask asks the provider whether the resource of a row is there, with the
// api-version by which it was written, and tells the inventory what it says.
// header carries the ids and the caller on whose behalf it asks. gone reports
// that the row was removed; an error, that the provider did not say.
func (a Asker) Ask(ctx context.Context, header http.Header, row inventory.Resource) (gone bool, err error) {
	q, endpoint, err := a.question(row)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, a.Timeout)
	defer cancel()
	path := q.Path.Escaped()
	header.Set("Referer", fanout.PublicLink(a.Public, path, q.Query.Raw))
	answer, err := a.Upstream.Read(ctx, upstream.Call{Endpoint: endpoint, Path: path, Query: q.Query.Raw, Header: header})
	if err != nil {
		return false, err
	}
	var observation inventory.Observation
	switch answer.Status {
	case http.StatusOK:
		observation.Found, observation.ID = true, row.ID
		observation.ProvisioningState, observation.Details = inventory.ReadDetails(answer.Body)
	case http.StatusNotFound:
	default:
		return false, fmt.Errorf("the provider answered %d", answer.Status)
	}
	settled, err := a.Store.Observe(ctx, row.Subscription, row.Key, row.Generation, observation)
	return settled && !observation.Found, err
}

// question builds the GET of a row's resource and finds the endpoint that holds
// it.
func (a Asker) question(row inventory.Resource) (*routing.Request, *regions.Endpoint, error) {
	// An ID is the decoded form of a path that was legal when it came in, so it
	// holds nothing that decoding it again could change.
	q, fault := routing.Classify(a.Map, http.MethodGet, row.ID, "")
	switch {
	case fault != nil:
		return nil, nil, fault
	case q.Type == nil:
		return nil, nil, fmt.Errorf("the map has no type %s", row.TypeName)
	case q.Type.Endpoint(row.Region) == nil:
		return nil, nil, fmt.Errorf("the map has no endpoint for %s in %s", row.TypeName, row.Region)
	}
	version := row.APIVersion
	if version == "" {
		version = q.Type.APIVersions[0]
	}
	q.Query.Raw = "api-version=" + version
	return q, q.Type.Endpoint(row.Region), nil
}
