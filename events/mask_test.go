package events_test

import (
	"strings"
	"testing"

	"portico/arm"
	"portico/events"
)

// Of a request that held secrets, an error that comes later is kept by its code, unless that is
// more than a word.
func TestLateErrorsOfRequestsWithSecrets(t *testing.T) {
	t.Parallel()
	said := &arm.Error{Status: 409, Code: "QuotaExceeded", Message: "of s3cret", Target: "s3cret", Details: []arm.Error{{Message: "s3cret"}}}
	if got := (events.Cause{}).LateError(said); got != said {
		t.Errorf("without secrets: %v", got)
	}
	if (events.Cause{Secrets: true}).LateError(nil) != nil {
		t.Error("no error becomes one")
	}
	got := events.Cause{Secrets: true}.LateError(said)
	if got.Code != said.Code || got.Status != 409 || strings.Contains(string(got.Body()), "s3cret") {
		t.Errorf("%s", got.Body())
	}
	got = events.Cause{Secrets: true}.LateError(&arm.Error{Code: "s3cret"})
	if got.Code != arm.ResourceDeploymentFailure {
		t.Errorf("%s", got.Body())
	}
}

func TestMaskOfAContext(t *testing.T) {
	t.Parallel()
	said := &arm.Error{Code: "C"}
	if events.HasMask(t.Context()) || events.Masked(t.Context(), said) != said {
		t.Error("a context without a mask hides something")
	}
	ctx := events.WithMask(t.Context(), func(*arm.Error) *arm.Error { return &arm.Error{Code: "Masked"} })
	if !events.HasMask(ctx) || events.Masked(ctx, said).Code != "Masked" || events.Masked(ctx, nil) != nil {
		t.Error("a mask is not used")
	}
}
