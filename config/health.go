package config

import (
	"fmt"
	"time"

	"portico/config/rule"
	"portico/config/setting"
)

// Health configures how the addresses of providers' endpoints are checked.
type Health struct {
	Probe     Probe
	Circuit   Circuit
	Ejection  Ejection
	SlowStart time.Duration // 0: an address that returns gets its full share of calls at once
}

// Probe configures the active checks of each address.
type Probe struct {
	Path           string        // empty: only connect
	Interval       time.Duration // 0: no probes
	Timeout        time.Duration
	UnhealthyAfter int // consecutive failures
	HealthyAfter   int // consecutive successes
}

// Circuit configures when an address that cannot be connected to gets no more calls.
type Circuit struct {
	Failures          int           // consecutive; 0: never
	Open, LongestOpen time.Duration // until the first trial, and the longest time between two
}

// Ejection configures when an address that performs worse than others gets no more calls.
type Ejection struct {
	Errors            float64 // fraction of calls, 0 to 1; 0: any number is allowed
	SlowerThan        int     // multiple of the others' median; 0: no limit
	Calls             int     // minimum within Window, for a judgement
	Window            time.Duration
	Time, LongestTime time.Duration // duration of the first ejection, and of the longest
	Most              float64       // maximum fraction of an endpoint's addresses, 0 to 1
}

// maxRefusal limits how long a region may be refused between two trials, because clients give up if
// they would have to wait longer.
const maxRefusal = time.Minute

func (h *Health) rows() *setting.Setting {
	return setting.Mapping("health", "How the addresses of providers' endpoints are judged and probed.",
		h.Probe.rows(), h.Circuit.rows(), h.Ejection.rows(),
		setting.Value("slowStart", &h.SlowStart, rule.Duration(), 30*time.Second,
			"For how long an address that returns gets less than its part; 0s: it does not."),
	)
}

func (p *Probe) rows() *setting.Setting {
	return setting.Mapping("probe", "Each address is asked from time to time whether it is well, by a connection of its own.",
		setting.Value("path", &p.Path, rule.RequestTarget(), "",
			"What a GET asks for, maybe with a query; an answer below 400 is good. Without a path a connection is made, and TLS begun where that is spoken.").
			Default("none"),
		setting.Value("interval", &p.Interval, rule.Duration(), 10*time.Second, "Between two probes of an address; 0s: none are made."),
		setting.Value("timeout", &p.Timeout, rule.PositiveDuration(), 2*time.Second, "Of one probe."),
		setting.Value("unhealthyAfter", &p.UnhealthyAfter, rule.Count(), 3,
			"After so many failures in a row an address gets no calls while others can have them."),
		setting.Value("healthyAfter", &p.HealthyAfter, rule.Count(), 2, "After so many successes in a row it has calls again."),
	)
}

func (c *Circuit) rows() *setting.Setting {
	return setting.Mapping("circuit",
		"How an address is left alone to which no connection can be made. A region of which no address can be reached is answered with 503 at once.",
		setting.Value("failures", &c.Failures, rule.CountOrZero(), 3, "After so many connections in a row that could not be made; 0: never."),
		setting.Value("open", &c.Open, rule.PositiveDuration(), time.Second, "The time until the first trial."),
		setting.Value("longestOpen", &c.LongestOpen, rule.PositiveDurationTo(maxRefusal), 10*time.Second,
			"The time between two trials, which grows, at most."),
	).Check(func(o *setting.Object) { checkLongest(o, "open", c.Open, "longestOpen", c.LongestOpen) })
}

func (e *Ejection) rows() *setting.Setting {
	return setting.Mapping("ejection", "How an address is left out that fares worse than the others of its endpoint.",
		setting.Value("errors", &e.Errors, rule.Percentage(), 0.5, "The share of calls that came to nothing or to a 5xx; 0%: any share will do."),
		setting.Value("slowerThan", &e.SlowerThan, rule.CountOrZero(), 5, "How many times slower than the median of the others it may be; 0: any."),
		setting.Value("calls", &e.Calls, rule.Count(), 20, "How many calls within `window` there must be to judge by."),
		setting.Value("window", &e.Window, rule.PositiveDuration(), 10*time.Second, "How far back calls count."),
		setting.Value("time", &e.Time, rule.PositiveDuration(), 30*time.Second, "For how long, the first time. It grows with each time that follows soon."),
		setting.Value("longestTime", &e.LongestTime, rule.PositiveDuration(), 5*time.Minute, "For how long, at most."),
		setting.Value("most", &e.Most, rule.Percentage(), 0.5, "The share of an endpoint's addresses that may be left out at once."),
	).Check(func(o *setting.Object) { checkLongest(o, "time", e.Time, "longestTime", e.LongestTime) })
}

// checkLongest reports an initial time that is longer than the maximum.
func checkLongest(o *setting.Object, first string, firstTime time.Duration, longest string, longestTime time.Duration) {
	if firstTime > longestTime {
		o.Fault(o.At(first, longest), fmt.Sprintf("%s.%s %v is longer than %s %v", o.Path, first, firstTime, longest, longestTime), first+" at most "+longest)
	}
}
