package exchange

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"portico/arm"
	"portico/events"
	"portico/inventory"
)

func TestUnknownFailures(t *testing.T) {
	x := &Exchange{}
	if fault := x.faultOf(errors.New("inner")); fault.Status != 500 || fault.Code != arm.InternalServerError || strings.Contains(fault.Message, "inner") || fault.RetryAfter != 0 {
		t.Errorf("%+v", fault)
	}
	if fault := x.faultOf(fmt.Errorf("a: %w", inventory.ErrUnavailable)); fault.Code != arm.ServerTimeout || fault.RetryAfter != arm.OutageRetryAfter {
		t.Errorf("%+v", fault)
	}
	refusal := arm.NewError(arm.NotImplemented)
	if fault := x.faultOf(fmt.Errorf("a: %w", refusal)); fault != refusal {
		t.Errorf("%+v", fault)
	}
}

// Retry-After counts whole seconds, and never less than was asked for.
func TestRetryAfterOfFaults(t *testing.T) {
	handler := Begin(&Settings{})(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fault := arm.NewError(arm.Conflict)
		fault.RetryAfter = 1100 * time.Millisecond
		Fail(w, r, fault)
	}))
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
	if w.Header().Get("Retry-After") != "2" || w.Code != 409 {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}

// The log and what is recorded of a refusal tell no secret of the request, nor of what encloses it.
// What encloses a request has its answer as it is.
func TestSecretsOfFailures(t *testing.T) {
	mask := func(fault *arm.Error) *arm.Error {
		hidden := *fault
		hidden.Message = strings.ReplaceAll(fault.Message, "s3cret", "*******")
		return &hidden
	}
	for _, err := range []error{arm.NewError(arm.Conflict).WithMessage("of s3cret"), errors.New("of s3cret")} {
		for _, own := range []bool{true, false} {
			var x *Exchange
			settings := &Settings{Refused: func(ctx context.Context, _ *Exchange, fault *arm.Error) {
				if strings.Contains(events.Masked(ctx, fault).Message, "s3cret") {
					t.Error("the event tells a secret")
				}
				if !events.CauseOf(ctx).Secrets {
					t.Error("the cause does not say that there are secrets")
				}
			}}
			handler := Begin(settings)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if x = From(r); own {
					x.Mask = mask
				}
				Fail(w, r, err)
			}))
			w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", http.NoBody)
			if !own {
				r = r.WithContext(events.WithMask(r.Context(), mask))
			}
			handler.ServeHTTP(w, r)
			if strings.Contains(x.Failure.Error(), "s3cret") || !strings.Contains(x.Failure.Error(), "of *******") {
				t.Errorf("the log: %v", x.Failure)
			}
			if own && strings.Contains(w.Body.String(), "s3cret") || !own && w.Code == 409 && !strings.Contains(w.Body.String(), "s3cret") {
				t.Errorf("the answer: %s", w.Body)
			}
		}
	}
}

func TestRequestOutsideTheChain(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a request without an exchange was served")
		}
	}()
	From(httptest.NewRequest(http.MethodGet, "/", http.NoBody))
}
