package exchange

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"portico/arm"
	"portico/events"
	"portico/inventory"
	"portico/tracing/headers"
)

const jsonContent = "application/json; charset=utf-8"

// Fail answers a request with the error that its handler returned: an *arm.Error or a
// [StoredError] as it is, an outage of the store as 503, anything else as a 500 whose
// cause only the log shows.
func Fail(w http.ResponseWriter, r *http.Request, err error) {
	x := From(r)
	var body []byte
	refused := x.settings.Refused
	if stored, ok := errors.AsType[*StoredError](err); ok {
		err, body = (&arm.Error{Status: http.StatusConflict, Code: stored.Code, Message: stored.Message}).WithCause(stored), stored.envelope()
		refused = nil // the job has recorded the event
	}
	fault := x.faultOf(err)
	if body == nil {
		shown := fault
		if x.Mask != nil { // the enclosing request needs the unmasked answer, and masks it itself
			shown = x.Mask(fault)
		}
		body = shown.Body()
	}
	x.Cause, x.Failure, x.Shown = CauseGateway, maskFailure(r.Context(), err), events.Masked(r.Context(), fault)
	switch len(fault.Regions) {
	case 0:
	case 1:
		x.Region = fault.Regions[0]
	default:
		x.Region = SeveralRegions
	}
	if refused != nil {
		refused(r.Context(), x, fault)
	}
	if fault.Code == arm.SubscriptionNotFound {
		x.Ticket.Disown()
	}
	h := w.Header()
	x.SetHeaders(w)
	h.Set("X-Ms-Failure-Cause", CauseGateway)
	h.Set("Content-Type", jsonContent)
	SetRetryAfter(h, fault.RetryAfter)
	if len(fault.Allow) > 0 {
		h.Set("Allow", strings.Join(fault.Allow, ", "))
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(fault.Status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // the client may be gone
	}
}

// maskFailure hides the secrets of a request in the error that is logged.
func maskFailure(ctx context.Context, err error) error {
	if !events.HasMask(ctx) {
		return err
	}
	if fault, ok := errors.AsType[*arm.Error](err); ok {
		return events.Masked(ctx, fault)
	}
	return errors.New(events.Masked(ctx, &arm.Error{Message: err.Error()}).Message)
}

// SetRetryAfter sets Retry-After in whole seconds, unless pause is 0.
func SetRetryAfter(h http.Header, pause time.Duration) {
	if pause > 0 {
		h["Retry-After"] = []string{strconv.Itoa(int(math.Ceil(pause.Seconds())))}
	}
}

func (x *Exchange) faultOf(err error) *arm.Error {
	if fault, ok := errors.AsType[*arm.Error](err); ok {
		return fault
	}
	if errors.Is(err, context.Canceled) {
		return arm.NewError(arm.ClientClosedRequest).WithCause(err)
	}
	code, retry := arm.InternalServerError, time.Duration(0)
	if errors.Is(err, inventory.ErrUnavailable) {
		code, retry = arm.ServerTimeout, arm.OutageRetryAfter
	}
	fault := x.Diagnosed(code, err)
	fault.RetryAfter = retry
	return fault
}

// Diagnosed returns an error with the request's ids in its message, so that operators
// find the request.
func (x *Exchange) Diagnosed(code arm.Code, cause error) *arm.Error {
	subscription := ""
	if x.Request != nil {
		subscription = x.Request.Path.Subscription()
	}
	return arm.NewError(code, x.Started.UTC().Format("20060102T150405Z"), subscription, x.Identity.Request, x.Identity.Correlation).WithCause(cause)
}

// SetHeaders sets the headers that all answers have. For a provider's answer, call it
// after the provider's headers are set.
func (x *Exchange) SetHeaders(w http.ResponseWriter) {
	x.ownHeaders = append(x.ownHeadersArray[:0], fixedHeaders...)
	if !x.settings.HTTPS {
		x.ownHeaders = x.ownHeaders[:len(x.ownHeaders)-1]
	}
	x.Identity.StampAnswer(w.Header(), &x.ownHeaders)
	x.Ticket.SetHeaders(&x.ownHeaders)
	headers.SetOwn(w, x.ownHeaders)
}

// fixedHeaders are the same in all answers. The last one is only for HTTPS.
var fixedHeaders = headers.Fields{
	{Name: "Cache-Control", Value: "no-cache"},
	{Name: "Pragma", Value: "no-cache"},
	{Name: "Expires", Value: "-1"},
	{Name: "X-Content-Type-Options", Value: "nosniff"},
	{Name: "Strict-Transport-Security", Value: "max-age=31536000; includeSubDomains"},
}

// maxOwnHeaders is the largest number of headers that SetHeaders sets.
const maxOwnHeaders = 11

// Answer writes an answer of Portico's own: body as JSON, or no body if it is nil.
func (x *Exchange) Answer(w http.ResponseWriter, status int, body any) error {
	h := w.Header()
	x.SetHeaders(w)
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
	h.Set("Content-Type", jsonContent)
	h.Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	_, _ = w.Write(text) // the client may be gone
	return nil
}

// List is the body of one of Portico's own lists.
type List struct {
	Value    []any  `json:"value"`
	NextLink string `json:"nextLink,omitempty"`
}

// ListOf returns the list of elements, each converted by show.
func ListOf[T, S any](elements []T, show func(T) S) List {
	l := List{Value: make([]any, 0, len(elements))}
	for _, e := range elements {
		l.Value = append(l.Value, show(e))
	}
	return l
}

// StoredError is an error as a job stored it.
type StoredError struct {
	Code    arm.Code `json:"code"`
	Message string   `json:"message"`

	text json.RawMessage
}

// ReadStoredError reads the error of a job.
func ReadStoredError(text json.RawMessage) (*StoredError, error) {
	e := &StoredError{text: text}
	return e, json.Unmarshal(text, e)
}

func (e *StoredError) Error() string { return string(e.Code) + ": " + e.Message }

// envelope returns the error as clients get it.
func (e *StoredError) envelope() []byte {
	return slices.Concat([]byte(`{"error":`), e.text, []byte(`}`))
}
