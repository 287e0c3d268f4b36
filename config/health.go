package config

import (
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Health is how the addresses of providers' endpoints are judged and probed.
type Health struct {
	Probe     Probe
	Circuit   Circuit
	Ejection  Ejection
	SlowStart time.Duration // how long an address that returns gets less than its part; 0: it does not
}

// Probe is how each address is asked whether it is well.
type Probe struct {
	Path           string        // what a GET asks for, maybe with a query; empty: a connection will do
	Interval       time.Duration // 0: no probes
	Timeout        time.Duration
	UnhealthyAfter int // failures in a row
	HealthyAfter   int // successes in a row
}

// Circuit is how an address is left alone to which no connection can be made.
type Circuit struct {
	Failures          int           // in a row; 0: it never is
	Open, LongestOpen time.Duration // until the first trial, and between two at most
}

// Ejection is how an address is left out that fares worse than others.
type Ejection struct {
	Errors            float64       // the share of calls, 0 to 1, that may not come to nothing or to a 5xx; 0: they may
	SlowerThan        int           // times the median of the others; 0: it may be slower
	Calls             int           // of Window at least, to be judged
	Window            time.Duration // that counts
	Time, LongestTime time.Duration // for how long, the first time and at most
	Most              float64       // the share of an endpoint's addresses, 0 to 1, at once
}

func defaultHealth() Health {
	return Health{
		Probe:   Probe{Interval: 10 * time.Second, Timeout: 2 * time.Second, UnhealthyAfter: 3, HealthyAfter: 2},
		Circuit: Circuit{Failures: 3, Open: time.Second, LongestOpen: 10 * time.Second},
		Ejection: Ejection{
			Errors: 0.5, SlowerThan: 5, Calls: 20, Window: 10 * time.Second,
			Time: 30 * time.Second, LongestTime: 5 * time.Minute, Most: 0.5,
		},
		SlowStart: 30 * time.Second,
	}
}

// longestRefusal bounds how long a region may be refused between two trials:
// clients that are told to come again later than this give up.
const longestRefusal = time.Minute

func readHealth(root object, h *Health) {
	o := root.child("health", "probe", "circuit", "ejection", "slowStart")
	set(o, "slowStart", &h.SlowStart, orZero())

	p := o.child("probe", "path", "interval", "timeout", "unhealthyAfter", "healthyAfter")
	set(p, "path", &h.Probe.Path, target())
	set(p, "interval", &h.Probe.Interval, orZero())
	set(p, "timeout", &h.Probe.Timeout, positive())
	set(p, "unhealthyAfter", &h.Probe.UnhealthyAfter, count())
	set(p, "healthyAfter", &h.Probe.HealthyAfter, count())

	c := o.child("circuit", "failures", "open", "longestOpen")
	set(c, "failures", &h.Circuit.Failures, countOrNone())
	set(c, "open", &h.Circuit.Open, positive())
	set(c, "longestOpen", &h.Circuit.LongestOpen, atMost(longestRefusal))
	ordered(c, "open", h.Circuit.Open, "longestOpen", h.Circuit.LongestOpen)

	e := o.child("ejection", "errors", "slowerThan", "calls", "window", "time", "longestTime", "most")
	set(e, "errors", &h.Ejection.Errors, percent())
	set(e, "slowerThan", &h.Ejection.SlowerThan, countOrNone())
	set(e, "calls", &h.Ejection.Calls, count())
	set(e, "window", &h.Ejection.Window, positive())
	set(e, "time", &h.Ejection.Time, positive())
	set(e, "longestTime", &h.Ejection.LongestTime, positive())
	ordered(e, "time", h.Ejection.Time, "longestTime", h.Ejection.LongestTime)
	set(e, "most", &h.Ejection.Most, percent())
}

// ordered reports a first time that is longer than the longest one.
func ordered(o object, first string, firstTime time.Duration, longest string, longestTime time.Duration) {
	if firstTime <= longestTime {
		return
	}
	o.r.fault(o.at(first, longest), fmt.Sprintf("%s %v is longer than %s %v", join(o.path, first), firstTime, longest, longestTime), first+" at most "+longest)
}

// atMost is a positive time with a bound of its own.
func atMost(most time.Duration) rule[time.Duration] {
	return durationRule("positive duration of at most "+most.String(), "above 0s and at most "+most.String()+", such as 500ms or 10s",
		func(d time.Duration) bool { return d > 0 && d <= most })
}

// countOrNone is a number of things that may be none.
func countOrNone() rule[int] {
	return rule[int]{
		parse: func(text string) (int, bool) {
			n, err := strconv.ParseUint(text, 10, 31)
			return int(n), err == nil
		},
		noun:    "number",
		allowed: fmt.Sprintf("0 to %d", math.MaxInt32),
	}
}

// percent is a share of a whole, read as 0 to 1.
func percent() rule[float64] {
	return rule[float64]{
		parse: func(text string) (float64, bool) {
			digits, found := strings.CutSuffix(text, "%")
			n, err := strconv.ParseUint(digits, 10, 8)
			return float64(n) / 100, found && err == nil && n <= 100
		},
		noun:    "percentage",
		allowed: "0% to 100%, in whole numbers",
	}
}

// target is a path with or without a query.
func target() rule[string] {
	return rule[string]{
		parse: func(text string) (string, bool) {
			u, err := url.ParseRequestURI(text)
			return text, err == nil && u.Host == "" && strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "//") && len(text) <= 1024 &&
				!strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '#' })
		},
		noun:    "path",
		allowed: "an absolute path, maybe with a query, in ASCII and without #, such as /healthz",
	}
}
