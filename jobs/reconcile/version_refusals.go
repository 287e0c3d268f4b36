package reconcile

import (
	"context"
	"errors"
	"net/http"
	"time"

	"portico/inventory"
	"portico/probe"
	"portico/upstream/answers"
)

// versionRefusals is the job's record of answers that refuse the request as such. A
// provider that has retired the row's api-version gives them for ever.
type versionRefusals struct {
	Since time.Time // of the first of them; zero: none
}

// probe probes the row. Once the row's own api-version has been refused for as long as
// fallback, it uses the newest of the type. Only an answer to the row's own version
// ends the refusals, so that the next probe keeps using the version that works.
func (r *versionRefusals) probe(
	ctx context.Context, prober probe.Prober, header http.Header, row inventory.Resource, fallback time.Duration,
) (probe.ProbeResult, error) {
	now := prober.Store.Now()
	prober.Newest = !r.Since.IsZero() && now.Sub(r.Since) >= fallback
	probed, err := prober.Probe(ctx, header, row)
	var answered probe.StatusError
	switch {
	case r.Since.IsZero() && errors.As(err, &answered) && answers.RefusesRequest(answered.Status):
		r.Since = now
	case err == nil && !prober.Newest:
		r.Since = time.Time{}
	}
	return probed, err
}
