package config

import (
	"time"

	"portico/config/files"
	"portico/config/rule"
	"portico/config/setting"
	"portico/regions"
)

// Upstream configures calls to providers.
type Upstream struct {
	CallTimeout                        time.Duration
	ReadsPerEndpoint, CallsPerEndpoint int         // concurrent
	TLS                                regions.TLS // an empty CA means the system's authorities
	QueueTime                          time.Duration
	QueuedPerEndpoint                  int // of each kind
}

func (u *Upstream) rows(r *files.Reader) *setting.Setting {
	return setting.Mapping("upstream", "Calls to providers.",
		setting.Value("callTimeout", &u.CallTimeout, rule.PositiveDuration(), time.Minute,
			"Timeout of a provider's answer. After it, the client gets 504.").RestartOnly(),
		setting.Value("readsPerEndpoint", &u.ReadsPerEndpoint, rule.Count(), 64,
			"Number of the gateway's own concurrent reads per endpoint: lists over several regions, and its own questions.").RestartOnly(),
		setting.Value("callsPerEndpoint", &u.CallsPerEndpoint, rule.Count(), 512,
			"Number of other concurrent reads per endpoint, and of concurrent writes. Further calls wait. Waiting callers are served round-robin, "+
				"one call at a time.").RestartOnly(),
		setting.Value("queueTime", &u.QueueTime, rule.PositiveDurationTo(time.Minute), 5*time.Second,
			"How long a client's call waits for an endpoint. After that it is answered with 503, or with 429 if the caller has reached its own "+
				"limit of concurrent calls.").RestartOnly(),
		setting.Value("queuedPerEndpoint", &u.QueuedPerEndpoint, rule.Count(), 1024,
			"Maximum number of waiting reads per endpoint, of waiting writes, and of the gateway's own waiting reads for clients. One caller may "+
				"use the share `limits.callerShare`. If the queue is full, the latest call of the caller with the most is answered with 503.").RestartOnly(),
		files.TLSRows(r, &u.TLS, "TLS to providers. The files are reloaded when they change.", "the system's", "none"),
	)
}
