package contract

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// watch remembers what all scenes of a run have met, for rules about every answer. It is
// safe for concurrent use; nil remembers nothing.
type watch struct {
	mu        sync.Mutex
	calls     int // that were answered or took too long
	slowest   time.Duration
	slow      string  // the call that took so long
	slowed    *Answer // its answer, nil without one
	throttled []*Answer
	kept      bool // a case that did not come last is
}

// mostThrottled bounds the answers that are kept.
const mostThrottled = 32

// saw takes notice of an answer that came after a while.
func (w *watch) saw(a *Answer, took time.Duration) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.took(a.call, a, took)
	if isThrottled(a) && len(w.throttled) < mostThrottled {
		w.throttled = append(w.throttled, a)
	}
}

// missed takes notice of a call that had no answer after a while.
func (w *watch) missed(c call, took time.Duration) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.took(c, nil, took)
}

func (w *watch) took(c call, a *Answer, took time.Duration) {
	w.calls++
	if took > w.slowest {
		w.slowest, w.slow, w.slowed = took, c.String(), a
	}
}

// keeps takes notice of a case that is kept.
func (w *watch) keeps() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kept = true
}

// keptAny reports whether any case is: an answer that comes in time says nothing of a
// provider that is wrong in all else.
func (w *watch) keptAny() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.kept
}

func isThrottled(a *Answer) bool {
	return a.Status == http.StatusTooManyRequests || a.Status == http.StatusServiceUnavailable
}

// watchCases are about what the other cases met; they come last.
func watchCases() []Case {
	return []Case{
		{
			ID: "time/every-answer-within-60-seconds", Profile: Core, Section: accepted, AtEnd: true,
			Rule: "a request is answered within 60 seconds; what takes longer is answered first and then carried out",
			Run: func(s *Scene) {
				w := s.watch
				if w.calls == 0 {
					s.leave("no call was made")
				}
				limit := s.Limits.Answer
				s.last = w.slowed
				s.check(w.slowest <= limit, "every call is answered within "+limit.String(), "%s was not after %s", w.slow, w.slowest.Round(time.Second))
			},
		},
		{
			ID: "throttle/says-when-to-come-again", Profile: Core, Section: retrying, AtEnd: true,
			Rule: "the server defines when a client tries again: every 429 and 503 has a Retry-After, in whole seconds or as an HTTP date",
			Run: func(s *Scene) {
				for _, a := range throttledAnswers(s) {
					s.last = a
					after := a.Header.Get("Retry-After")
					s.check(isRetryAfter(after), fmt.Sprintf("%s with %d has a Retry-After in seconds or as a date", a.call, a.Status), "%q", after)
				}
			},
		},
		{
			ID: "throttle/has-an-error", Profile: Core, Section: retrying, AtEnd: true,
			Rule: "every 429 and 503 has an error.code and an error.message",
			Run: func(s *Scene) {
				for _, a := range throttledAnswers(s) {
					s.last = a
					code, message := text(a.doc, "error.code"), text(a.doc, "error.message")
					s.check(code != "" && message != "", fmt.Sprintf("%s with %d has an error.code and an error.message", a.call, a.Status), "%s", a)
				}
			},
		},
	}
}

// throttledAnswers are those of the run; without any, the case cannot be tried.
func throttledAnswers(s *Scene) []*Answer {
	if len(s.watch.throttled) == 0 {
		s.leave("no call was answered with 429 or 503")
	}
	return s.watch.throttled
}

func isRetryAfter(value string) bool {
	if seconds, err := strconv.Atoi(value); err == nil {
		return seconds >= 0
	}
	_, err := http.ParseTime(value)
	return err == nil
}

// burst is how many reads are sent at once.
const burst = 100

// burstCases send more than a client usually does.
func burstCases() []Case {
	return []Case{{
		ID: "throttle/a-burst-of-reads", Profile: Core, Section: retrying, On: func(t *Type) bool { return isTop(t) && writable(t) },
		Once: true, Disruptive: true,
		Rule: "100 reads at the same time are each answered with 200 or throttled",
		Run: func(s *Scene) {
			s.create(s.id, s.body(s.Type))
			reads := make([]call, burst)
			for i := range reads {
				reads[i] = s.writing(http.MethodGet, s.id, nil)
			}
			for _, a := range s.atOnce(reads) {
				s.last = a
				s.check(a.Status == http.StatusOK || isThrottled(a), a.call.String()+" answers 200, 429 or 503", "%s", a)
			}
		},
	}}
}
