package contract

import (
	"net/http"
	"time"
)

// Outcome is the verdict of a run about a case on a type.
type Outcome string

// The outcomes.
const (
	// Kept means that the rule was tried and held.
	Kept Outcome = "kept"
	// Broken means that the rule was tried and did not hold.
	Broken Outcome = "broken"
	// Unreached means that the case could not be prepared, for example because
	// a resource could not be created. It does not count as passed; another
	// case is about the rule that prevented it.
	Unreached Outcome = "unreached"
	// LeftOut means that the rule was not tried, because its profile is not
	// claimed, the description gives no means, or the case is disruptive. It
	// does not count as passed.
	LeftOut Outcome = "left out"
)

// Result is the result of one case on one resource type.
type Result struct {
	Case      string  `json:"case"` // its id
	Profile   Profile `json:"profile"`
	Type      string  `json:"type,omitempty"`      // "" if the case concerns no single type
	Section   string  `json:"section"`             // section of the contract
	Guideline string  `json:"guideline,omitempty"` // "" if there is none
	Rule      string  `json:"rule"`                // the section's requirement
	Through   string  `json:"through,omitempty"`   // what a front door changes; "" if nothing
	Outcome   Outcome `json:"outcome"`
	Why       string  `json:"why,omitempty"`    // reason of an outcome that is neither kept nor broken
	Faults    []Fault `json:"faults,omitempty"` // faults of a broken rule, or faults that prevented an unreached one
	// Created lists the paths that a broken case has written, for [Ledger.Spare].
	Created []string `json:"-"`
	// Script is a POSIX shell script that repeats the calls of a broken case, from its
	// preparation to the faults, on a provider that does not have the case's resources.
	Script string        `json:"script,omitempty"`
	Began  time.Time     `json:"began"`
	Took   time.Duration `json:"tookNanoseconds"`
}

// Fault describes one violation of a rule, without secrets.
type Fault struct {
	Expected string `json:"expected"`
	Got      string `json:"got"`
	// Exchange is the call that showed the violation; nil if none was answered.
	Exchange *Exchange `json:"exchange,omitempty"`
}

// Exchange is a request and its answer, without secrets: credentials are replaced by the
// name of a variable that holds them, or removed.
type Exchange struct {
	Method        string      `json:"method"`
	URL           string      `json:"url"`
	RequestHeader http.Header `json:"requestHeader"`
	RequestBody   string      `json:"requestBody"`
	// RequestBodyNote describes RequestBody if that is not the whole body.
	RequestBodyNote string      `json:"requestBodyNote,omitempty"`
	Status          int         `json:"status"`
	Header          http.Header `json:"responseHeader"`
	Body            string      `json:"responseBody"`
	// BodyNote describes Body if that is not the whole body.
	BodyNote string `json:"responseBodyNote,omitempty"`
	// Curl is the POSIX shell command that repeats the request; it expects a
	// body that is too long for a line in the file request-body.
	Curl string `json:"curl"`
}

// Reporter receives results, from any goroutine, each once.
type Reporter interface {
	Report(Result)
}
