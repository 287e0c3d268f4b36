// Package fault parses the faults that contoso can commit on request, and selects
// the one for a request. It only names them: package contoso commits them.
// It knows requests, but no resources.
//
// These refuse the request without applying it:
//
//	status=N           answer N with an error body
//	quote              400 with an error that quotes the request's content: as it is, in
//	                   base64, and escaped for a URL
//	refuse=S           status S with an error that has all members that errors have: a
//	                   target, details of details, additional information, an inner error
//	                   and a member of its own, each of which quotes the content; for a
//	                   preflight, a clear no. refuse=S,N: with N details more;
//	                   refuse=S,N,M: accepted in the mode M of x-contoso-async, and the
//	                   operation ends with that error
//	throttle=N         429 with Retry-After: N
//	reset-before       reset the connection
//	html               200 with a page of HTML
//	redirect           307 to the same path on its own host
//	refuse-until=ID    409 while the resource ID exists, then the proper answer
//	blocked-by=ID      the same, without naming the resource
//	busy=CODE          409 with an error code such as AnotherOperationInProgress, and without
//	                   Retry-After, while an accepted write of the resource, or of one
//	                   below it, runs, a hidden create too; then the proper answer.
//	                   busy=CODE,STATUS: with that 4xx
//	not-found=CODE     404 with an error code about something else, such as
//	                   SubscriptionNotFound; not-found=page: with an ingress's page of HTML
//	hidden-from-clients  404 ResourceNotFound to a call with a client's identity
//	                   (x-ms-client-object-id), the proper answer to any other
//	cut-request        reset the connection after half of the content
//
// These apply the request and spoil the answer:
//
//	async=M            carry it out in the mode M of x-contoso-async; async=M,S and
//	                   async-fails=M,S also send Retry-After: S; async=M,S,D takes D
//	async-fails=M      the same, and the operation fails
//	async-endless=M    the same as async=M, and the operation never ends
//	halfway            a move breaks off after the first half of its resources, with 500
//	moved=WHAT         a move is answered as if it were done; WHAT is done instead: none
//	                   (nothing), half (the first half of the resources), away (they go, and
//	                   are nowhere); moved=WHAT,M also carries it out in the mode M
//	delay=D            wait first
//	late=D             reset the connection, apply after D, even if the subscription's state
//	                   has changed
//	slow=D             apply at once, answer after D
//	overlook           a DELETE that finds nothing ignores an accepted create that is
//	                   still hidden: 204 (overlook=404: 404), and the create lands
//	unshown            the resource does not show an accepted DELETE until it ends and
//	                   removes later writes too; a DELETE without a polling URL is
//	                   shown anyway. An accepted PATCH: the resource shows its old
//	                   state, as Succeeded, until it ends
//	polls-late=D       polls of its operation are answered 404 for D
//	polls-strict       polls of its operation are answered 400, except with the
//	                   api-version of its URL
//	cut-answer         apply, and end the connection after half of the answer
//	reset-after        apply, then reset the connection
//	stall              send half of the body, then hang until the client leaves
//	bad-json           a body that breaks off
//	unreadable=TEXT    a success with another text in place of its own: page (of HTML),
//	                   empty, null, list, object (without members), half (of its own),
//	                   utf16 (its own in that encoding)
//	byte-order-mark    a byte order mark before the body
//	big=N              a body of N bytes, its length declared
//	big-chunked=N      the same, its length not declared
//	foreign-location   polling URLs on another host (the write becomes asynchronous)
//	own-location       polling URLs on its own host (the same)
//	foreign-elements   a list also shows resources outside of its scope: in other
//	                   subscriptions, groups and parents
//	foreign-next       nextLink on another host
//	own-next           nextLink on its own host
//	long-next=N        nextLink with a skip token of N bytes more
//	next-loop          a page whose nextLink is its own URL
//	endless-pages      an empty page whose nextLink leads to another such page
//	no-value           an object without a value
//	gzip-bomb=N        a page of N bytes, compressed to almost nothing
//	hop-headers        hop-by-hop and server headers, a correlation id of its own
package fault

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The names of faults; the package comment explains them.
const (
	Status          = "status"
	Quote           = "quote"
	Refuse          = "refuse"
	Throttle        = "throttle"
	ResetBefore     = "reset-before"
	HTML            = "html"
	Redirect        = "redirect"
	RefuseUntil     = "refuse-until"
	BlockedBy       = "blocked-by"
	Busy            = "busy"
	Async           = "async"
	AsyncFails      = "async-fails"
	AsyncEndless    = "async-endless"
	Halfway         = "halfway"
	Moved           = "moved"
	Delay           = "delay"
	Late            = "late"
	Slow            = "slow"
	ResetAfter      = "reset-after"
	Stall           = "stall"
	BadJSON         = "bad-json"
	Unreadable      = "unreadable"
	ByteOrderMark   = "byte-order-mark"
	Big             = "big"
	BigChunked      = "big-chunked"
	ForeignLocation = "foreign-location"
	OwnLocation     = "own-location"
	ForeignElements = "foreign-elements"
	ForeignNext     = "foreign-next"
	OwnNext         = "own-next"
	LongNext        = "long-next"
	NextLoop        = "next-loop"
	EndlessPages    = "endless-pages"
	NoValue         = "no-value"
	GzipBomb        = "gzip-bomb"
	HopHeaders      = "hop-headers"

	Overlook          = "overlook"
	PollsLate         = "polls-late"
	PollsStrict       = "polls-strict"
	HiddenFromClients = "hidden-from-clients"
	NotFound          = "not-found"
	Unshown           = "unshown"
	CutRequest        = "cut-request"
	CutAnswer         = "cut-answer"
)

// What a provider does when it claims to have moved resources.
const (
	MovesNone = "none"
	MovesHalf = "half"
	MovesAway = "away"
)

// The texts of an unreadable answer.
const (
	TextPage   = "page"
	TextEmpty  = "empty"
	TextNull   = "null"
	TextList   = "list"
	TextObject = "object"
	TextHalf   = "half"
	TextUTF16  = "utf16"
)

var unreadable = [...]string{TextPage, TextEmpty, TextNull, TextList, TextObject, TextHalf, TextUTF16}

// Bounds of arguments.
const (
	maxWait = 10 * time.Minute
	// StallTime bounds how long stall hangs.
	StallTime  = 2 * time.Minute
	minBig     = 64
	maxBig     = 1 << 30
	maxNext    = 1 << 20
	maxDetails = 10_000
)

// Fault is one misbehaviour. The zero value is none.
type Fault struct {
	Name     string
	Number   int           // of status, refuse, throttle, big, big-chunked, gzip-bomb, long-next, overlook, busy
	Duration time.Duration // of delay, late, slow, polls-late, async; 0: none
	ID       string        // of refuse-until, blocked-by
	Mode     string        // of async, async-fails, async-endless, moved, refuse
	Details  int           // of refuse
	Moves    string        // of moved
	Code     string        // of not-found, busy
	Text     string        // of unreadable
	// RetryAfter is the second argument of async, async-fails and async-endless, "" if absent.
	RetryAfter string
}

// Parse reads a fault with its argument. It reports whether the text is one.
func Parse(text string) (Fault, bool) {
	name, arg, hasArg := strings.Cut(text, "=")
	f := Fault{Name: name}
	ok, err := !hasArg, error(nil)
	switch name {
	case "", Quote, ResetBefore, HTML, Redirect, ResetAfter, Stall, BadJSON, ByteOrderMark, ForeignLocation, OwnLocation, ForeignElements, ForeignNext,
		OwnNext, NextLoop, EndlessPages, NoValue, HopHeaders, Halfway, PollsStrict, HiddenFromClients, Unshown, CutRequest, CutAnswer:
	case Overlook:
		f.Number, ok = http.StatusNoContent, !hasArg || arg == "404"
		if hasArg {
			f.Number = http.StatusNotFound
		}
	case NotFound:
		f.Code, ok = arg, isWord(arg)
	case Busy:
		f.Number = http.StatusConflict
		code, status, hasStatus := strings.Cut(arg, ",")
		if hasStatus {
			f.Number, err = strconv.Atoi(status)
		}
		f.Code, ok = code, isWord(code) && f.Number >= 400 && f.Number <= 499
	case Status, Throttle, Big, BigChunked, GzipBomb, LongNext:
		f.Number, err = strconv.Atoi(arg)
		least, most := bounds(name)
		ok = f.Number >= least && f.Number <= most
	case Refuse:
		if _, err = fmt.Sscanf(arg, "%d,%d,%s", &f.Number, &f.Details, &f.Mode); errors.Is(err, io.ErrUnexpectedEOF) {
			err = nil // trailing arguments are optional
		}
		ok = f.Number >= 400 && f.Number <= 599 && f.Details >= 0 && f.Details <= maxDetails
	case Delay, Late, Slow, PollsLate:
		f.Duration, err = time.ParseDuration(arg)
		ok = f.Duration >= 0 && f.Duration <= maxWait
	case Async, AsyncFails, AsyncEndless:
		var lasts string
		f.Mode, f.RetryAfter, _ = strings.Cut(arg, ",")
		if f.RetryAfter, lasts, ok = strings.Cut(f.RetryAfter, ","); ok {
			f.Duration, err = time.ParseDuration(lasts)
		}
		ok = hasArg && f.Duration >= 0 && f.Duration <= maxWait
	case Moved:
		f.Moves, f.Mode, _ = strings.Cut(arg, ",")
		ok = f.Moves == MovesNone || f.Moves == MovesHalf || f.Moves == MovesAway
	case Unreadable:
		f.Text, ok = arg, slices.Contains(unreadable[:], arg)
	case RefuseUntil, BlockedBy:
		f.ID, ok = arg, strings.HasPrefix(arg, "/")
	default:
		ok = false
	}
	if !ok || err != nil {
		return Fault{}, false
	}
	return f, true
}

// bounds returns the permitted range of a fault's number.
func bounds(name string) (least, most int) {
	switch name {
	case Status:
		return 200, 599
	case Throttle:
		return 0, math.MaxInt
	case LongNext:
		return 1, maxNext
	}
	return minBig, maxBig
}

// isWord reports whether the text may be an error code.
func isWord(text string) bool {
	return text != "" && strings.IndexFunc(text, func(c rune) bool { return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') }) < 0
}

// FromClient reports whether a call comes from a client: the front door
// forwards the caller's identity, and sends none with its own calls.
func FromClient(h http.Header) bool { return h.Get("x-ms-client-object-id") != "" }

// Rule gives its fault to matching requests without a fault header.
type Rule struct {
	Method       string `json:"method"`       // "" for any
	PathContains string `json:"pathContains"` // compared without case; "" for any
	Fault        string `json:"fault"`
	Count        int    `json:"count"` // remaining requests; negative: no limit
}

// matches reports whether the rule applies to a request. The front door sends
// notifications at any time, so a rule applies to them only if it names a part of their
// path. hidden-from-clients never applies to the front door's own calls.
func (f Rule) matches(r *http.Request, notification bool) bool {
	if f.PathContains == "" && notification || f.Fault == HiddenFromClients && !FromClient(r.Header) {
		return false
	}
	path := strings.ToLower(r.URL.EscapedPath())
	return (f.Method == "" || strings.EqualFold(f.Method, r.Method)) && strings.Contains(path, strings.ToLower(f.PathContains))
}

// Table holds the rules that are not used up yet.
type Table struct {
	mu    sync.Mutex
	rules []Rule
}

// Add appends a rule.
func (t *Table) Add(r Rule) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rules = append(t.rules, r)
}

// All returns the rules that are not used up, in the order of Add.
func (t *Table) All() []Rule {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]Rule{}, t.rules...)
}

// Clear removes all rules.
func (t *Table) Clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rules = nil
}

// Take returns the fault in the request's header, or else the fault of the
// first rule that matches, and counts the rule as used once. It returns false
// if that text is not a fault; without a fault it returns the zero value.
func (t *Table) Take(r *http.Request, notification bool) (Fault, bool) {
	if v := r.Header.Get("x-contoso-fault"); v != "" {
		return Parse(v)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.IndexFunc(t.rules, func(f Rule) bool { return f.matches(r, notification) })
	if i < 0 {
		return Fault{}, true
	}
	text := t.rules[i].Fault
	if t.rules[i].Count > 0 {
		if t.rules[i].Count--; t.rules[i].Count == 0 {
			t.rules = slices.Delete(t.rules, i, i+1)
		}
	}
	return Parse(text)
}
