package reconcile

import (
	"context"
	"errors"
	"net/http"
	"time"

	"portico/inventory"
	"portico/locate"
)

// versionRefusals is what a row's job remembers of answers that refuse the question
// as such. A provider that has retired the row's api-version gives them for ever.
type versionRefusals struct {
	Since time.Time // of the first of them; zero: none
}

// probe asks for the row, with the newest api-version of its type once the row's own
// has been refused for as long as fallback. Only an answer to the row's own version
// ends the refusals: the next probe has to go on with the version that is understood.
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

// refusesQuestion reports whether the provider has answered that the question is
// wrong, whoever asks it and whenever.
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
