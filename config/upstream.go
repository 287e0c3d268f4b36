package config

import (
	"time"

	"portico/config/files"
	"portico/config/rule"
	"portico/config/setting"
)

// Upstream is how providers are called.
type Upstream struct {
	CallTimeout                        time.Duration
	ReadsPerEndpoint, CallsPerEndpoint int // at a time
	QueueTime                          time.Duration
	QueuedPerEndpoint                  int // of each kind
	TLS                                UpstreamTLS
}

// UpstreamTLS names PEM files: CA in place of the system's roots, Cert and Key
// (both or neither) as the gateway's own identity. Each may be empty.
type UpstreamTLS struct {
	CA, Cert, Key string
}

func (u *Upstream) rows(r *files.Reader) *setting.Setting {
	return setting.Mapping("upstream", "How providers are called.",
		setting.Value("callTimeout", &u.CallTimeout, rule.PositiveDuration(), time.Minute,
			"How long a provider may take for an answer; then the client gets 504.").RestartOnly(),
		setting.Value("readsPerEndpoint", &u.ReadsPerEndpoint, rule.Count(), 64,
			"How many of the gateway's own reads one endpoint gets at a time: lists over several regions, and what the gateway asks by itself.").RestartOnly(),
		setting.Value("callsPerEndpoint", &u.CallsPerEndpoint, rule.Count(), 512,
			"How many other reads, and how many writes, one endpoint gets at a time. A call beyond them waits. Callers that wait are served in turn, one call of each.").RestartOnly(),
		setting.Value("queueTime", &u.QueueTime, rule.PositiveDurationTo(time.Minute), 5*time.Second,
			"How long a client's call waits for its turn at an endpoint; then it is answered with 503, or with 429 where the caller has as many calls under way as one caller may have.").RestartOnly(),
		setting.Value("queuedPerEndpoint", &u.QueuedPerEndpoint, rule.Count(), 1024,
			"How many reads, and how many writes, wait at one endpoint, and of the gateway's own reads for clients. One caller has a share of that, `limits.callerShare`. Where more would wait, the latest call of the caller with the most is answered with 503.").RestartOnly(),
		setting.Mapping("tls", "TLS towards providers.",
			setting.Value("ca", &u.TLS.CA, rule.PEMFile(), "", "The authorities that providers' certificates must come from.").Default("the system's"),
			setting.Value("cert", &u.TLS.Cert, rule.PEMFile(), "", "The gateway's own certificate, for providers that ask for one."),
			setting.Value("key", &u.TLS.Key, rule.PEMFile(), "", "The private key of that certificate."),
		).Check(func(o *setting.Object) {
			checkPEM(r, o, "ca", &u.TLS.CA)
			checkKeyPair(r, o, &u.TLS.Cert, &u.TLS.Key)
		}),
	)
}
