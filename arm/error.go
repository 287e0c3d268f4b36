package arm

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"
)

// Error is ARM's error envelope with its status. Handlers return it; one
// renderer writes it.
type Error struct {
	Status         int              `json:"-"`
	Code           Code             `json:"code"`
	Message        string           `json:"message"`
	Target         string           `json:"target,omitempty"`
	Details        []Error          `json:"details,omitempty"`
	AdditionalInfo []AdditionalInfo `json:"additionalInfo,omitempty"`
	// Further holds the members of a provider's error that ARM's form lacks,
	// such as innererror. Type is a member's name.
	Further []AdditionalInfo `json:"-"`

	// RetryAfter is the requested pause, sent in whole seconds, rounded up;
	// zero sends none.
	RetryAfter time.Duration `json:"-"`
	// Allow names the methods that a 405 permits.
	Allow []string `json:"-"`
	// Regions lists the regions that did not contribute to the answer, for
	// logs and metrics.
	Regions []string `json:"-"`
	// Cause is the reason for the fault, only for the log: it never reaches a client.
	Cause error `json:"-"`
}

const (
	// MaxRetryAfter bounds the pauses requested from clients, which give up at
	// once if a pause is longer.
	MaxRetryAfter = time.Minute
	// OutageRetryAfter is the pause requested while a dependency of the answer is down.
	OutageRetryAfter = 5 * time.Second
)

// AdditionalInfo is a machine-readable supplement of an [Error].
type AdditionalInfo struct {
	Type string          `json:"type"`
	Info json.RawMessage `json:"info"`
}

// NewError returns the error of a code, with ARM's message filled with args
// in order. It cuts long texts among them.
func NewError(code Code, args ...any) *Error {
	f, known := faults[code]
	if !known {
		panic("arm: no wording for code " + string(code))
	}
	return &Error{Status: f.status, Code: code, Message: format(f.text, args)}
}

func format(text string, args []any) string {
	for i, a := range args {
		if s, ok := a.(string); ok {
			args[i] = cutForError(s)
		}
	}
	return fmt.Sprintf(text, args...)
}

// longestShown bounds one text of a client or a provider in an error: longer than any
// ID, but short enough that an error is at most a few times longer than what it refuses.
const longestShown = 8 << 10

// cutForError cuts a text for an error.
func cutForError(s string) string {
	return strings.ToValidUTF8(beginning(s, longestShown), "\uFFFD")
}

// beginning cuts a text that is longer than a number of bytes.
func beginning(s string, longest int) string {
	if len(s) <= longest {
		return s
	}
	return strings.ToValidUTF8(s[:longest], "") + "…"
}

// WithTarget sets the target: the id, member or parameter at fault.
func (e *Error) WithTarget(target string) *Error {
	e.Target = cutForError(target)
	return e
}

// Withheld returns the error with only its code, and a sentence that explains that. It
// also replaces a code with characters other than letters, which may be anything.
func (e *Error) Withheld(why string) *Error {
	kept := &Error{Status: e.Status, Code: e.Code, Message: why}
	if strings.ContainsFunc(string(e.Code), func(r rune) bool { return !unicode.IsLetter(r) }) {
		kept.Code = ResourceDeploymentFailure
	}
	return kept
}

// WithCause sets a cause for the log.
func (e *Error) WithCause(err error) *Error {
	e.Cause = err
	return e
}

// WithStatus sets another status than the code's usual one.
func (e *Error) WithStatus(status int) *Error {
	e.Status = status
	return e
}

// Shown sets a provider's code and message, cut.
func (e *Error) Shown(code, message string) *Error {
	e.Code, e.Message = Code(cutForError(code)), cutForError(message)
	return e
}

// WithMessage sets another message than the code's usual wording.
func (e *Error) WithMessage(message string, args ...any) *Error {
	e.Message = format(message, args)
	return e
}

func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

func (e *Error) Unwrap() error { return e.Cause }

// Body returns the envelope as JSON: {"error":{…}}, with names in lower case, as
// clients look them up case-sensitively.
func (e *Error) Body() []byte {
	body, err := json.Marshal(struct {
		Error *Error `json:"error"`
	}{e})
	if err != nil { // only AdditionalInfo and Further can hold invalid JSON
		panic(fmt.Sprintf("arm: error %s cannot be rendered: %v", e.Code, err))
	}
	return body
}

// NoProviderFound returns NoRegisteredProviderFound in the matching wording:
// location is empty if the request has none. fullType is "Namespace/type/…";
// the message names the type without its namespace, as ARM does.
func NoProviderFound(location, apiVersion, fullType string, versions, locations []string) *Error {
	_, name, found := strings.Cut(fullType, "/")
	if !found {
		name = fullType
	}
	supported := strings.Join(versions, ", ")
	if location == "" {
		return NewError(NoRegisteredProviderFound, "", apiVersion, name, supported, "").WithMessage(
			"No registered resource provider found for API version '%s' for type '%s'. The supported api-versions are '%s'.",
			apiVersion, name, supported)
	}
	return NewError(NoRegisteredProviderFound, location, apiVersion, name, supported, strings.Join(locations, ", "))
}

// Unreachable returns BadGatewayConnection for the endpoint of a region. The message
// names the region unless it is empty.
func Unreachable(namespace, region string) *Error {
	e := NewError(BadGatewayConnection, namespace)
	if region != "" {
		e = e.WithMessage("The network connectivity issue encountered for '%s' in the location '%s'; cannot fulfill the request.", namespace, region)
	}
	return e.WithTarget(region)
}

// NotRegistered returns MissingSubscriptionRegistration. Clients of all
// versions read the namespace to register from its details. state is the
// state of a registration that has ended; empty if there never was one.
func NotRegistered(namespace, state string) *Error {
	e := NewError(MissingSubscriptionRegistration, namespace)
	if state != "" {
		e = e.WithMessage("The subscription registration is in '%s' state. The subscription must be registered to use namespace '%s'. See "+
			"https://aka.ms/rps-not-found for how to register subscriptions.", state, namespace)
	}
	return e.ofNamespace(namespace)
}

// NotRegisteredThere returns MissingRegistrationForLocation, with the same details.
// typeName is the type without its namespace, location a region's display name.
func NotRegisteredThere(namespace, typeName, location string) *Error {
	return NewError(MissingRegistrationForLocation, typeName, location).ofNamespace(namespace)
}

// TargetNotRegistered is like NotRegistered, for the target subscription of a move.
func TargetNotRegistered(subscription, namespace, state string) *Error {
	e := NewError(MissingSubscriptionRegistration, namespace)
	if state == "" {
		e = e.WithMessage("The target subscription '%s' is not registered to use namespace '%s'. See https://aka.ms/rps-not-found for how to "+
			"register subscriptions.", subscription, namespace)
	} else {
		e = e.WithMessage("The registration of the target subscription '%s' is in '%s' state. It must be registered to use namespace '%s'. See "+
			"https://aka.ms/rps-not-found for how to register subscriptions.", subscription, state, namespace)
	}
	return e.ofNamespace(namespace)
}

// TargetNotRegisteredThere is like NotRegisteredThere, for the target
// subscription of a move.
func TargetNotRegisteredThere(subscription, namespace, typeName, location string) *Error {
	return NewError(MissingRegistrationForLocation, typeName, location).
		WithMessage("The target subscription '%s' is not registered for the resource type '%s' in the location '%s'. Re-register it for this provider in order "+
			"to have access to this location.", subscription, typeName, location).
		ofNamespace(namespace)
}

func (e *Error) ofNamespace(namespace string) *Error {
	e.Target = namespace
	e.Details = []Error{{Code: e.Code, Message: e.Message, Target: namespace}}
	return e
}
