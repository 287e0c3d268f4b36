package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"portico/arm"
	"portico/inventory"
)

// fail answers a request with the error that a handler returned: an *arm.Error
// as it is, an outage of the store as 503, anything else as a 500 whose cause
// only the log learns.
func (g *Gateway) fail(w http.ResponseWriter, r *http.Request, err error) {
	x := of(r)
	var stored *storedFault
	if errors.As(err, &stored) {
		err = arm.NewError(arm.Conflict).Because(stored)
	}
	fault := g.faultOf(x, err)
	x.cause, x.failure = causeGateway, err
	h := w.Header()
	g.ownHeaders(h, x)
	h.Set("X-Ms-Failure-Cause", causeGateway)
	h.Set("Content-Type", "application/json; charset=utf-8")
	setRetryAfter(h, fault.RetryAfter)
	if len(fault.Allow) > 0 {
		h.Set("Allow", strings.Join(fault.Allow, ", "))
	}
	body := fault.Body()
	var worded interface{ envelope() []byte }
	if errors.As(err, &worded) {
		body = worded.envelope()
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(fault.Status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // the client may be gone
	}
}

// setRetryAfter asks for a pause, in whole seconds; 0 asks for none.
func setRetryAfter(h http.Header, pause time.Duration) {
	if pause > 0 {
		h["Retry-After"] = []string{strconv.Itoa(int(math.Ceil(pause.Seconds())))}
	}
}

func (g *Gateway) faultOf(x *exchange, err error) *arm.Error {
	var fault *arm.Error
	if errors.As(err, &fault) {
		return fault
	}
	if errors.Is(err, context.Canceled) {
		return arm.NewError(arm.ClientClosedRequest).Because(err)
	}
	code := arm.InternalServerError
	if errors.Is(err, inventory.ErrUnavailable) {
		code = arm.ServerTimeout
	}
	fault = x.diagnosed(code, err)
	if code == arm.ServerTimeout {
		fault.RetryAfter = arm.OutageRetryAfter
	}
	return fault
}

// diagnosed returns an error whose words hold the ids by which it is found again.
func (x *exchange) diagnosed(code arm.Code, cause error) *arm.Error {
	subscription := ""
	if x.request != nil {
		subscription = x.request.Path.Subscription()
	}
	return arm.NewError(code, x.started.UTC().Format("20060102T150405Z"), subscription, x.identity.Request, x.identity.Correlation).Because(cause)
}

// ownHeaders sets what every answer of the front door's own carries.
func (g *Gateway) ownHeaders(h http.Header, x *exchange) {
	h["Cache-Control"] = []string{"no-cache"}
	h["Pragma"] = []string{"no-cache"}
	h["Expires"] = []string{"-1"}
	g.everyAnswer(h, x)
}

// everyAnswer sets what proxied answers carry as well.
func (g *Gateway) everyAnswer(h http.Header, x *exchange) {
	h["X-Content-Type-Options"] = []string{"nosniff"}
	if g.public.Scheme == "https" {
		h["Strict-Transport-Security"] = []string{"max-age=31536000; includeSubDomains"}
	}
	x.identity.StampAnswer(h)
}

// answer writes an own answer: body as JSON, or without a body when it is nil.
func (g *Gateway) answer(w http.ResponseWriter, x *exchange, status int, body any) error {
	h := w.Header()
	g.ownHeaders(h, x)
	if body == nil {
		if status != http.StatusNoContent && status != http.StatusNotModified {
			h.Set("Content-Length", "0")
		}
		w.WriteHeader(status)
		return nil
	}
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	_, _ = w.Write(text) // the client may be gone
	return nil
}
