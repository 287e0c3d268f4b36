package operations

import (
	"context"
	"errors"
	"net/http"
	"time"

	"portico/inventory"
	"portico/locate"
)

// refusals is what the job of a row keeps of answers that refuse the question as
// such. A provider that has retired the api-version of a row gives them for ever.
type refusals struct {
	Since time.Time // the first of them; zero: none
}

// look asks for the row, with the newest api-version of its type once the row's
// own has been refused for as long as fallback. Only an answer to the row's own
// version ends the refusals: the next question has to go on with what is understood.
func (r *refusals) look(ctx context.Context, asker locate.Prober, header http.Header, row inventory.Resource, fallback time.Duration) (locate.ProbeResult, error) {
	now := asker.Store.Time()
	asker.Newest = !r.Since.IsZero() && now.Sub(r.Since) >= fallback
	sight, err := asker.Probe(ctx, header, row)
	switch {
	case r.Since.IsZero() && refusesQuestion(err):
		r.Since = now
	case err == nil && !asker.Newest:
		r.Since = time.Time{}
	}
	return sight, err
}

// refusesQuestion reports whether the provider has answered that the question is
// wrong: neither who asks nor when would change the answer.
func refusesQuestion(err error) bool {
	var said locate.StatusError
	if !errors.As(err, &said) {
		return false
	}
	switch said.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return false
	}
	return said.Status >= http.StatusBadRequest && said.Status < http.StatusInternalServerError
}
