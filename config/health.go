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
	return setting.Mapping("health", "Health checks of the addresses of providers' endpoints.",
		h.Probe.rows(), h.Circuit.rows(), h.Ejection.rows(),
		setting.Value("slowStart", &h.SlowStart, rule.Duration(), 30*time.Second,
			"How long an address that returns gets less than its share of calls; 0s: it gets its full share at once."),
	)
}

func (p *Probe) rows() *setting.Setting {
	return setting.Mapping("probe", "Active checks of each address, over a separate connection.",
		setting.Value("path", &p.Path, rule.RequestTarget(), "",
			"Path of the GET request, which may have a query. An answer below 400 is a success. Without a path, the check only connects, "+
				"including the TLS handshake for https addresses.").
			Default("none"),
		setting.Value("interval", &p.Interval, rule.Duration(), 10*time.Second, "Time between two checks of an address; 0s disables the checks."),
		setting.Value("timeout", &p.Timeout, rule.PositiveDuration(), 2*time.Second, "Timeout of one check."),
		setting.Value("unhealthyAfter", &p.UnhealthyAfter, rule.Count(), 3,
			"After this many consecutive failures, an address gets no calls while other addresses can take them."),
		setting.Value("healthyAfter", &p.HealthyAfter, rule.Count(), 2, "After this many consecutive successes, it gets calls again."),
	)
}

func (c *Circuit) rows() *setting.Setting {
	return setting.Mapping("circuit",
		"When an address that cannot be connected to gets no more calls. If no address of a region can be reached, calls are immediately answered "+
			"with 503.",
		setting.Value("failures", &c.Failures, rule.CountOrZero(), 3, "Number of consecutive connection failures that open the circuit; 0: never."),
		setting.Value("open", &c.Open, rule.PositiveDuration(), time.Second, "Time until the first trial."),
		setting.Value("longestOpen", &c.LongestOpen, rule.PositiveDurationTo(maxRefusal), 10*time.Second,
			"Maximum time between two trials. The time grows with each failed trial."),
	).Check(func(o *setting.Object) { checkLongest(o, "open", c.Open, "longestOpen", c.LongestOpen) })
}

func (e *Ejection) rows() *setting.Setting {
	return setting.Mapping("ejection", "When an address that performs worse than the others of its endpoint gets no more calls.",
		setting.Value("errors", &e.Errors, rule.Percentage(), 0.5, "Fraction of calls that fail or get a 5xx; 0%: this is not checked."),
		setting.Value("slowerThan", &e.SlowerThan, rule.CountOrZero(), 5, "How many times slower than the others' median it may be; 0: this is "+
			"not checked."),
		setting.Value("calls", &e.Calls, rule.Count(), 20, "Minimum number of calls within `window` for a judgement."),
		setting.Value("window", &e.Window, rule.PositiveDuration(), 10*time.Second, "How long calls are taken into account."),
		setting.Value("time", &e.Time, rule.PositiveDuration(), 30*time.Second, "Duration of the first ejection. It grows if further ones follow "+
			"soon."),
		setting.Value("longestTime", &e.LongestTime, rule.PositiveDuration(), 5*time.Minute, "Maximum duration of an ejection."),
		setting.Value("most", &e.Most, rule.Percentage(), 0.5, "Maximum fraction of an endpoint's addresses that may be ejected at once."),
	).Check(func(o *setting.Object) { checkLongest(o, "time", e.Time, "longestTime", e.LongestTime) })
}

// checkLongest reports an initial time that is longer than the maximum.
func checkLongest(o *setting.Object, first string, firstTime time.Duration, longest string, longestTime time.Duration) {
	if firstTime > longestTime {
		o.Fault(o.At(first, longest), fmt.Sprintf("%s.%s %v is longer than %s %v", o.Path, first, firstTime, longest, longestTime), first+" at most "+longest)
	}
}
