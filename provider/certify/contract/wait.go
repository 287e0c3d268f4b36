package contract

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"portico/internal/timing"
)

// Limits bound a run. Zero values stand for the defaults.
type Limits struct {
	Call time.Duration // one call, 75 s
	// Answer is how long a front door waits for an answer, 60 s.
	Answer time.Duration
	Wait   time.Duration // for the end of one operation, 2 min
	Scene  time.Duration // one case on one type, 10 min
	// Pause is the longest time between two polls, 1 s. A longer Retry-After
	// is cut to it, except on a 429, so that a run ends.
	Pause time.Duration
}

func (l Limits) orDefault() Limits {
	set := func(d *time.Duration, usual time.Duration) {
		if *d <= 0 {
			*d = usual
		}
	}
	set(&l.Call, 75*time.Second) // longer than the front door's minute, so that a slow answer is seen
	set(&l.Answer, time.Minute)
	set(&l.Wait, 2*time.Minute)
	set(&l.Scene, 10*time.Minute)
	set(&l.Pause, time.Second)
	return l
}

// firstPause is the time between the first two polls; it doubles.
const firstPause = 20 * time.Millisecond

// wait is a wait for a condition.
type wait struct {
	s     *Scene
	end   time.Time
	pause time.Duration
}

func (s *Scene) newWait() *wait {
	return &wait{s: s, end: time.Now().Add(s.Limits.Wait), pause: min(firstPause, s.Limits.Pause)}
}

// until pauses before the next try, as long as the answer requests; false
// means that the wait is over.
func (w *wait) until(a *Answer) bool {
	pause := w.pause
	w.pause = min(2*w.pause, w.s.Limits.Pause)
	if seconds, err := strconv.Atoi(a.Header.Get("Retry-After")); err == nil && seconds >= 0 {
		pause = time.Duration(seconds) * time.Second
		if a.Status != http.StatusTooManyRequests {
			pause = min(pause, w.s.Limits.Pause)
		}
	}
	if time.Now().Add(pause).After(w.end) {
		return false
	}
	if timing.Sleep(w.s.ctx, pause) != nil {
		w.s.unlessStopped(w.s.ctx.Err())
		return false
	}
	w.s.paused += pause
	return true
}

// await repeats a query until its answer is as expected; after the limit it
// records a fault and ends the scene.
func (s *Scene) await(what string, ask func() (*Answer, bool)) *Answer {
	for w := s.newWait(); ; {
		a, there := ask()
		if there {
			return a
		}
		if !w.until(a) {
			s.fatal(what, fmt.Sprintf("not within %s; last: %s", s.Limits.Wait, a))
		}
	}
}

// readSoon reads a resource after its operation has ended, which a provider
// may show a moment later.
func (s *Scene) readSoon(id string, there func(*Answer) bool) *Answer {
	a := s.get(id)
	for w, n := s.newWait(), 1; n < certainPolls && !there(a) && w.until(a); n++ {
		a = s.get(id)
	}
	return a
}

// settled waits, like a client, for the end of the operation that a write started, and
// returns the resource read then. An operation that does not end breaks another rule.
func (s *Scene) settled(a *Answer, id string) *Answer {
	settled := a
	s.prepare(func() {
		if a.Status == http.StatusAccepted {
			s.followed(a)
		}
		switch {
		case a.call.method == http.MethodDelete && a.Status != http.StatusAccepted:
			settled = s.get(id)
		case a.call.method == http.MethodDelete:
			settled = s.await("the DELETE of "+id+" ends", func() (*Answer, bool) {
				read := s.get(id)
				return read, read.isGone() || hasURL(a) && terminal(read.state())
			})
		case a.Status != http.StatusAccepted && a.call.method == http.MethodPut && !a.asynchronous() && text(a.doc, "id") != "":
		default:
			settled = s.await(id+" exists, in a terminal state", func() (*Answer, bool) {
				read := s.get(id)
				return read, read.Status == http.StatusOK && terminal(read.state())
			})
		}
	})
	return settled
}

// followed polls the URLs of a 202 until one of them reports the end of the operation.
func (s *Scene) followed(started *Answer) {
	location, status := started.Header.Get("Location"), started.Header.Get("Azure-AsyncOperation")
	if location == "" && status == "" {
		return
	}
	s.await("the operation ends", func() (*Answer, bool) {
		var a *Answer
		over := false
		if location != "" {
			a = s.follow(location, started)
			over = a.Status != http.StatusAccepted
		}
		if status != "" && !over {
			a = s.follow(status, started)
			over = a.Status > 299 || terminal(text(a.doc, "status"))
		}
		return a, over
	})
}

// asynchronous reports whether a successful answer started something that has not ended.
func (a *Answer) asynchronous() bool {
	return a.Status == http.StatusAccepted ||
		a.Status < 300 && (!terminal(a.state()) || a.Header.Get("Azure-AsyncOperation") != "")
}
