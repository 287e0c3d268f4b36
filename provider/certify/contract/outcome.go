package contract

import (
	"net/http"
	"time"
)

// Outcome says what a run found out about a case on a type.
type Outcome string

// The outcomes.
const (
	// Kept: the rule was tried and held.
	Kept Outcome = "kept"
	// Broken: the rule was tried and did not hold.
	Broken Outcome = "broken"
	// Unreached: what the case needs before it can try its rule, such as a resource, was
	// not to be had. It is not passed; the rule that prevented it is another case's.
	Unreached Outcome = "unreached"
	// LeftOut: the rule was not tried, because its profile is not claimed, the description
	// gives no means, or the case is disruptive. It is not passed.
	LeftOut Outcome = "left out"
)

// Result is what a run found out about one case on one resource type.
type Result struct {
	Case      string  `json:"case"` // its id
	Profile   Profile `json:"profile"`
	Type      string  `json:"type,omitempty"`      // "" if the case concerns no single type
	Section   string  `json:"section"`             // of the contract
	Guideline string  `json:"guideline,omitempty"` // "" where there is none
	Rule      string  `json:"rule"`                // what the section requires
	Through   string  `json:"through,omitempty"`   // what a front door changes; "" if nothing
	Outcome   Outcome `json:"outcome"`
	Why       string  `json:"why,omitempty"`    // of an outcome that is neither kept nor broken
	Faults    []Fault `json:"faults,omitempty"` // of a broken rule, and of what prevented an unreached one
	// Created are the paths of what a broken case has written, for [Ledger.Spare].
	Created []string `json:"-"`
	// Script makes the calls of a broken case again, in a POSIX shell, from what prepared to
	// what showed the faults, on a provider that has nothing of what they make.
	Script string        `json:"script,omitempty"`
	Began  time.Time     `json:"began"`
	Took   time.Duration `json:"tookNanoseconds"`
}

// Fault describes one violation of a rule, without secrets.
type Fault struct {
	Expected string `json:"expected"`
	Got      string `json:"got"`
	// Exchange is the call that showed it; nil if none was answered.
	Exchange *Exchange `json:"exchange,omitempty"`
}

// Exchange is a request and its answer, without secrets: credentials are replaced by the
// name of a variable that holds them, or removed.
type Exchange struct {
	Method        string      `json:"method"`
	URL           string      `json:"url"`
	RequestHeader http.Header `json:"requestHeader"`
	RequestBody   string      `json:"requestBody"`
	// RequestBodyNote says what RequestBody shows if that is not the whole body.
	RequestBodyNote string      `json:"requestBodyNote,omitempty"`
	Status          int         `json:"status"`
	Header          http.Header `json:"responseHeader"`
	Body            string      `json:"responseBody"`
	// BodyNote says what Body shows if that is not the whole body.
	BodyNote string `json:"responseBodyNote,omitempty"`
	// Curl is the line that repeats the request in a POSIX shell; a body that is too long
	// for a line is to be in the file request-body.
	Curl string `json:"curl"`
}

// Reporter receives results, from any goroutine, each once.
type Reporter interface {
	Report(Result)
}
