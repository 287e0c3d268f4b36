package reconcile

import (
	"context"
	"errors"
	"net/http"
	"time"

	"portico/inventory"
	"portico/locate"
)

// versionRefusals is the job's record of answers that refuse the request as such. A
// provider that has retired the row's api-version gives them for ever.
type versionRefusals struct {
	Since time.Time // of the first of them; zero: none
}

// probe probes the row. Once the row's own api-version has been refused for as long as
// fallback, it uses the newest of the type. Only an answer to the row's own version
// ends the refusals, so that the next probe keeps using the version that works.
func (r *versionRefusals) probe(ctx context.Context, prober locate.Prober, header http.Header, row inventory.Resource, fallback time.Duration) (locate.ProbeResult, error) {
	now := prober.Store.Now()
	prober.Newest = !r.Since.IsZero() && now.Sub(r.Since) >= fallback
	probed, err := prober.Probe(ctx, header, row)
	switch {
	case r.Since.IsZero() && refusesQuestion(err):
		r.Since = now
	case err == nil && !prober.Newest:
		r.Since = time.Time{}
	}
	return probed, err
}

// refusesQuestion reports whether the provider has answered that the request is wrong
// for any caller at any time.
func refusesQuestion(err error) bool {
	var answered locate.StatusError
	if !errors.As(err, &answered) {
		return false
	}
	switch answered.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return false
	}
	return answered.Status >= http.StatusBadRequest && answered.Status < http.StatusInternalServerError
}
