package contoso

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Names of misbehaviours; the package comment tells what each does.
const (
	statusFault     = "status"
	throttle        = "throttle"
	resetBefore     = "reset-before"
	html            = "html"
	redirect        = "redirect"
	refuseUntil     = "refuse-until"
	blockedBy       = "blocked-by"
	asynchronous    = "async"
	asyncFailing    = "async-fails"
	halfway         = "halfway"
	delay           = "delay"
	late            = "late"
	slow            = "slow"
	resetAfter      = "reset-after"
	stall           = "stall"
	badJSON         = "bad-json"
	big             = "big"
	bigChunked      = "big-chunked"
	foreignLocation = "foreign-location"
	ownLocation     = "own-location"
	foreignNext     = "foreign-next"
	ownNext         = "own-next"
	nextLoop        = "next-loop"
	endlessPages    = "endless-pages"
	noValue         = "no-value"
	gzipBomb        = "gzip-bomb"
	hopHeaders      = "hop-headers"

	overlook          = "overlook"
	pollsLate         = "polls-late"
	pollsStrict       = "polls-strict"
	hiddenFromClients = "hidden-from-clients"
	notFoundAs        = "not-found"
	unshown           = "unshown"
	cutRequest        = "cut-request"
	cutAnswer         = "cut-answer"
)

// Bounds of what a fault may ask for.
const (
	maxWait   = 10 * time.Minute
	stallTime = 2 * time.Minute
	minBig    = 64
	maxBig    = 1 << 30
)

// fault is one misbehaviour. The zero value is none.
type fault struct {
	name     string
	number   int           // of status, throttle, big, big-chunked, gzip-bomb, overlook
	duration time.Duration // of delay, late, slow, polls-late
	id       string        // of refuse-until, blocked-by
	mode     string        // of async, async-fails
	code     string        // of not-found
	// retryAfter is the second argument of these two, "" without.
	retryAfter string
}

func parseFault(text string) (fault, error) {
	name, arg, hasArg := strings.Cut(text, "=")
	f := fault{name: name}
	ok, err := !hasArg, error(nil)
	switch name {
	case "", resetBefore, html, redirect, resetAfter, stall, badJSON, foreignLocation, ownLocation, foreignNext, ownNext, nextLoop, endlessPages, noValue, hopHeaders, halfway, pollsStrict, hiddenFromClients, unshown, cutRequest, cutAnswer:
	case overlook:
		f.number, ok = http.StatusNoContent, !hasArg || arg == "404"
		if hasArg {
			f.number = http.StatusNotFound
		}
	case notFoundAs:
		f.code, ok = arg, isWord(arg)
	case statusFault:
		f.number, err = strconv.Atoi(arg)
		ok = f.number >= 200 && f.number <= 599
	case throttle:
		f.number, err = strconv.Atoi(arg)
		ok = f.number >= 0
	case big, bigChunked, gzipBomb:
		f.number, err = strconv.Atoi(arg)
		ok = f.number >= minBig && f.number <= maxBig
	case delay, late, slow, pollsLate:
		f.duration, err = time.ParseDuration(arg)
		ok = f.duration >= 0 && f.duration <= maxWait
	case asynchronous, asyncFailing:
		f.mode, f.retryAfter, _ = strings.Cut(arg, ",")
		ok = hasArg
	case refuseUntil, blockedBy:
		f.id, ok = arg, strings.HasPrefix(arg, "/")
	default:
		ok = false
	}
	if !ok || err != nil {
		return fault{}, badHeader("x-contoso-fault", "the faults of the package comment, one, with its argument after =")
	}
	return f, nil
}

// faultRule has requests misbehave that carry no fault header.
type faultRule struct {
	Method       string `json:"method"`       // "" for any
	PathContains string `json:"pathContains"` // without case; "" for any
	Fault        string `json:"fault"`
	Count        int    `json:"count"` // how many requests more; negative without end
}

// fits tells whether the rule is for a request. The front door sends notices
// when it likes: none of them draws a rule that names no part of its path. What is
// hidden from clients alone is no matter of the front door's own calls.
func (f faultRule) fits(r *http.Request) bool {
	if f.PathContains == "" && isNotice(r) || f.Fault == hiddenFromClients && !ofClient(r.Header) {
		return false
	}
	return (f.Method == "" || strings.EqualFold(f.Method, r.Method)) && strings.Contains(fold(r.URL.EscapedPath()), fold(f.PathContains))
}

type faultTable struct {
	mu    sync.Mutex
	rules []faultRule
}

func (t *faultTable) add(r faultRule) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rules = append(t.rules, r)
}

func (t *faultTable) all() []faultRule {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]faultRule{}, t.rules...)
}

func (t *faultTable) clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rules = nil
}

// draw gives the request's fault: the one of its header, else that of the first
// rule that fits, which is used up by it.
func (t *faultTable) draw(r *http.Request) (fault, error) {
	if v := r.Header.Get("x-contoso-fault"); v != "" {
		return parseFault(v)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.IndexFunc(t.rules, func(f faultRule) bool { return f.fits(r) })
	if i < 0 {
		return fault{}, nil
	}
	text := t.rules[i].Fault
	if t.rules[i].Count > 0 {
		if t.rules[i].Count--; t.rules[i].Count == 0 {
			t.rules = slices.Delete(t.rules, i, i+1)
		}
	}
	return parseFault(text)
}
