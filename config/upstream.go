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
	return setting.Mapping("upstream", "How providers are called.",
		setting.Value("callTimeout", &u.CallTimeout, rule.PositiveDuration(), time.Minute,
			"How long a provider may take for an answer; then the client gets 504.").RestartOnly(),
		setting.Value("readsPerEndpoint", &u.ReadsPerEndpoint, rule.Count(), 64,
			"How many of the gateway's own reads one endpoint gets at a time: lists over several regions, and what the gateway asks by itself.").RestartOnly(),
		setting.Value("callsPerEndpoint", &u.CallsPerEndpoint, rule.Count(), 512,
			"How many other reads, and how many writes, one endpoint gets at a time. A call beyond them waits. Callers that wait are served in "+
				"turn, one call of each.").RestartOnly(),
		setting.Value("queueTime", &u.QueueTime, rule.PositiveDurationTo(time.Minute), 5*time.Second,
			"How long a client's call waits for its turn at an endpoint; then it is answered with 503, or with 429 where the caller has as many calls "+
				"under way as one caller may have.").RestartOnly(),
		setting.Value("queuedPerEndpoint", &u.QueuedPerEndpoint, rule.Count(), 1024,
			"How many reads, and how many writes, wait at one endpoint, and of the gateway's own reads for clients. One caller has a share of that, "+
				"`limits.callerShare`. Where more would wait, the latest call of the caller with the most is answered with 503.").RestartOnly(),
		files.TLSRows(r, &u.TLS, "TLS towards providers. The files are read anew when they change.", "the system's", "none"),
	)
}
