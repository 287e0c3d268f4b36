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
	Case      string // its id
	Profile   Profile
	Type      string // "" if the case concerns no single type
	Section   string // of the contract
	Guideline string // "" where there is none
	Rule      string // what the section requires
	Through   string // what a front door changes; "" if nothing
	Outcome   Outcome
	Why       string  // of an outcome that is neither kept nor broken
	Faults    []Fault // of a broken rule, and of what prevented an unreached one
	Began     time.Time
	Took      time.Duration
}

// Fault describes one violation of a rule.
type Fault struct {
	Expected string
	Got      string
	// Exchange is the call that showed it; nil if none was answered.
	Exchange *Exchange
}

// Exchange is a request and its answer, without the secrets of the request: credentials
// are replaced by the name of a variable that holds them.
type Exchange struct {
	Method, URL   string
	RequestHeader http.Header
	RequestBody   string
	Status        int
	Header        http.Header
	Body          string
	// Curl is the line that repeats the request in a POSIX shell.
	Curl string
}

// Reporter receives results, from any goroutine, each once.
type Reporter interface {
	Report(Result)
}
