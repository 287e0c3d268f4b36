package contract

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// watch collects observations of all scenes of a run, for rules about every
// answer. It is safe for concurrent use; a nil watch collects nothing.
type watch struct {
	mu        sync.Mutex
	calls     int // that were answered or timed out
	slowest   time.Duration
	slow      string  // the call that took so long
	slowed    *Answer // its answer, nil without one
	throttled []*Answer
	kept      bool // a case that did not come last was kept
}

// mostThrottled bounds the throttled answers that are kept.
const mostThrottled = 32

// recordAnswer records an answer and how long it took.
func (w *watch) recordAnswer(a *Answer, took time.Duration) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.recordDelay(a.call, a, took)
	if isThrottled(a) && len(w.throttled) < mostThrottled {
		w.throttled = append(w.throttled, a)
	}
}

// recordTimeout records a call that was not answered in time.
func (w *watch) recordTimeout(c call, took time.Duration) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.recordDelay(c, nil, took)
}

func (w *watch) recordDelay(c call, a *Answer, took time.Duration) {
	w.calls++
	if took > w.slowest {
		w.slowest, w.slow, w.slowed = took, c.String(), a
	}
}

// recordKept records that a case was kept.
func (w *watch) recordKept() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kept = true
}

// keptAny reports whether any case was kept: punctual answers prove nothing
// about a provider that is wrong in everything else.
func (w *watch) keptAny() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.kept
}

func isThrottled(a *Answer) bool {
	return a.Status == http.StatusTooManyRequests || a.Status == http.StatusServiceUnavailable
}

// watchCases check the observations of the other cases; they run last.
func watchCases() []Case {
	return []Case{
		{
			ID: "time/every-answer-within-60-seconds", Profile: Core, Section: accepted, AtEnd: true,
			Rule: "a request is answered within 60 seconds; longer work continues after the answer",
			Run: func(s *Scene) {
				w := s.watch
				if w.calls == 0 {
					s.leaveOut("no call was made")
				}
				limit := s.Limits.Answer
				s.last = w.slowed
				s.check(w.slowest <= limit, "every call is answered within "+limit.String(), "%s was not after %s", w.slow, w.slowest.Round(time.Second))
			},
		},
		{
			ID: "throttle/says-when-to-come-again", Profile: Core, Section: retrying, AtEnd: true,
			Rule: "every 429 and 503 has a Retry-After, in whole seconds or as an HTTP date",
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

// throttledAnswers returns the run's throttled answers; without any, the case
// is left out.
func throttledAnswers(s *Scene) []*Answer {
	if len(s.watch.throttled) == 0 {
		s.leaveOut("no call was answered with 429 or 503")
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

// burst is the number of reads sent at once.
const burst = 100

// burstCases send more requests than a client usually does.
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
