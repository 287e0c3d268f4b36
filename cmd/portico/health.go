package main

import (
	"portico/config"
	"portico/regions/health"
	"portico/upstream"
)

// healthOf is how the addresses of providers are judged and probed.
func healthOf(h config.Health) upstream.Health {
	return upstream.Health{
		Settings: health.Settings{
			Failures: h.Circuit.Failures, Open: h.Circuit.Open, MaxOpen: h.Circuit.LongestOpen,
			Unhealthy: h.Probe.UnhealthyAfter, Healthy: h.Probe.HealthyAfter,
			ErrorRatio: h.Ejection.Errors, SlowFactor: float64(h.Ejection.SlowerThan), Calls: h.Ejection.Calls, Window: h.Ejection.Window,
			Eject: h.Ejection.Time, MaxEject: h.Ejection.LongestTime, MaxEjectedShare: h.Ejection.Most,
			SlowStart: h.SlowStart,
		},
		Probing: upstream.Probing{Path: h.Probe.Path, Interval: h.Probe.Interval, Suspect: h.Circuit.Open, Timeout: h.Probe.Timeout},
	}
}
