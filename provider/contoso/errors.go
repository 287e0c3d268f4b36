package contoso

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
)

// failure is an error with its own answer: a status, and the code and message
// of the contract's error envelope.
type failure struct {
	status  int
	code    string
	message string
	header  http.Header
	details []errorDetail
}

func (f *failure) Error() string { return f.code + ": " + f.message }

func fail(status int, code, format string, args ...any) *failure {
	return &failure{status: status, code: code, message: fmt.Sprintf(format, args...)}
}

func badRequest(code, format string, args ...any) *failure {
	return fail(http.StatusBadRequest, code, format, args...)
}

func notFound(code, format string, args ...any) *failure {
	return fail(http.StatusNotFound, code, format, args...)
}

// badHeader refuses one of contoso's own steering headers.
func badHeader(name, allowed string) *failure {
	return badRequest("InvalidContosoHeader", "The header %s is not understood. Allowed: %s.", name, allowed)
}

func badFault() *failure {
	return badHeader("x-contoso-fault", "the faults of the package comment, one, with its argument after =")
}

func resourceNotFound(a address) *failure {
	return notFound("ResourceNotFound", "The resource '%s' was not found.", a.id())
}

func invalidContent(format string, args ...any) *failure {
	return badRequest("InvalidRequestContent", format, args...)
}

// failed renders err. An error without its own answer becomes a 500 that does
// not reveal the cause.
func failed(err error) answer {
	var f *failure
	if !errors.As(err, &f) {
		f = fail(http.StatusInternalServerError, "InternalServerError", "The provider could not carry out the request.")
	}
	a := jsonAnswer(f.status, errorBody{errorDetail{Code: f.code, Message: f.message, Details: f.details}})
	maps.Copy(a.header, f.header)
	return a
}

type errorBody struct {
	Error errorDetail `json:"error"`
}

type errorDetail struct {
	Code    string        `json:"code"`
	Message string        `json:"message"`
	Target  string        `json:"target,omitempty"`
	Details []errorDetail `json:"details,omitempty"`
	// Only the fault refuse sets the members below.
	AdditionalInfo []any          `json:"additionalInfo,omitempty"`
	InnerError     map[string]any `json:"innererror,omitempty"`
	TraceID        string         `json:"traceId,omitempty"`
}
