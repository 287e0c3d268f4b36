package config

import (
	"net/netip"
	"net/url"
	"strings"
	"time"

	"portico/config/files"
	"portico/config/rule"
	"portico/config/setting"
	"portico/config/yamltree"
)

// Server configures how the gateway itself is reached.
type Server struct {
	PublicURL      *url.URL // scheme and host only
	Listen, Admin  string   // host:port
	Region         string
	TLS            TLS
	Connections    Connections
	TrustedProxies []netip.Prefix
	AdminTokens    []AdminToken // empty: no token is needed
	AdminHosts     []string
	Drain          Drain
	Compression    Compression
	WatchInterval  time.Duration // 0: files are not watched
}

// Compression configures the compression of answers on the public listener.
type Compression struct {
	Off     bool
	Minimum int64 // bytes of an answer
}

// Connections limits the connections of the public listener.
type Connections struct {
	All, PerAddress           int // PerAddress is at most All
	Idle, IdleUnauthenticated time.Duration
}

// AdminToken is a bearer token of the admin listener, known by its hash.
type AdminToken struct {
	SHA256 string // hexadecimal
	Name   string // as in audit lines
}

// TLS configures TLS of the public listener. Cert and Key are both set or both empty. Terminated
// means that a proxy in front of the gateway terminates TLS.
type TLS struct {
	Cert, Key  string
	Terminated bool
}

// Drain configures how the gateway stops: it reports itself unready for Delay, and then lets
// requests finish until Limit.
type Drain struct {
	Delay, Limit time.Duration
}

func (s *Server) rows(r *files.Reader) *setting.Setting {
	adminToken, adminTokens := s.adminTokenRows(r)
	return setting.Mapping("server", "Listeners of the gateway itself.",
		setting.Required("publicURL", &s.PublicURL, rule.Address(),
			"The URL by which clients reach the gateway. The `referer` header, polling URLs and links of lists are built from it."),
		setting.Value("listen", &s.Listen, rule.ListenAddress(), "127.0.0.1:8080",
			"Address of the public listener. Beyond loopback it requires that callers authenticate (`auth`), and `server.tls`. Port 0 lets the "+
				"system choose.").RestartOnly(),
		setting.Value("admin", &s.Admin, rule.ListenAddress(), "127.0.0.1:8081",
			"Address of the admin listener: metrics, health, profiles, subscriptions, jobs. Beyond loopback it requires `server.adminToken` or "+
				"`server.adminTokens`.").RestartOnly(),
		setting.Required("region", &s.Region, rule.RegionName(),
			"The region in which this gateway runs, one of `regions`. It is part of every request's routing id."),
		setting.Removed("httpServer", "HTTP/1.1 is served as by `http1`, which was the default"),
		s.TLS.rows(r),
		s.Compression.rows(),
		s.Connections.rows(),
		setting.List("trustedProxies", rule.Network(),
			"Networks of trusted proxies. Their `X-Forwarded-For` is used, and with `tracing` their `traceparent`; both are ignored from other "+
				"addresses. `server.connections.perAddress` does not apply to them.",
			func(_ *yamltree.Node, p netip.Prefix) { s.TrustedProxies = append(s.TrustedProxies, p) }).Default("none"),
		adminToken,
		adminTokens,
		setting.List("adminHosts", rule.HostName(),
			"Host names by which the admin listener may be called, in addition to IP addresses and localhost. Others are answered with 403, so "+
				"that no web page reaches it through a name of its own.",
			func(_ *yamltree.Node, host string) { s.AdminHosts = append(s.AdminHosts, host) }).Default("none"),
		setting.Mapping("drain", "How the gateway stops.",
			setting.Value("delay", &s.Drain.Delay, rule.Duration(), 5*time.Second,
				"How long it reports itself not ready, but continues to serve, so that load balancers notice."),
			setting.Value("limit", &s.Drain.Limit, rule.PositiveDuration(), 30*time.Second,
				"How long requests in progress may take after that. Then they are aborted."),
		),
		setting.Value("watchInterval", &s.WatchInterval, rule.Duration(), 2*time.Second,
			"How often the files of the configuration, and those of keys and certificates, are checked for changes. A change is applied once the "+
				"files have been unchanged for this long. `0s`: only SIGHUP and `POST /admin/reload` apply changes."),
	).Check(func(o *setting.Object) {
		if s.Listen == s.Admin && !strings.HasSuffix(s.Listen, ":0") {
			o.Fault(o.At("admin", "listen"), "server.listen and server.admin are the same address", "two addresses")
		}
	})
}

func (c *Connections) rows() *setting.Setting {
	return setting.RestartOnly(c, nil, setting.Mapping("connections",
		"Connections of the public listener. If all are in use, a new connection from an address with few replaces the newest one from the "+
			"address with the most.",
		setting.Value("all", &c.All, rule.Count(), 10000,
			"Maximum number of connections. Each takes about 40 KiB of memory while it is used, and with HTTP/2 also while it is idle. An idle "+
				"HTTP/1.1 connection takes 5 KiB, or 16 KiB with TLS. Each takes one of the process's file descriptors."),
		setting.Value("perAddress", &c.PerAddress, rule.Count(), 5000,
			"Maximum number of connections per address; IPv6 addresses are counted by their /64. It does not apply to `server.trustedProxies`. "+
				"Behind a load balancer that hides the clients' addresses, set it to `server.connections.all`, the maximum."),
		setting.Value("idle", &c.Idle, rule.PositiveDuration(), 2*time.Minute,
			"How long a connection may be idle."),
		setting.Value("idleUnauthenticated", &c.IdleUnauthenticated, rule.PositiveDuration(), 15*time.Second,
			"How long a connection on which no request has been authenticated may take until its next request, including the TLS handshake and "+
				"the headers of the first one."),
	).Check(func(o *setting.Object) {
		if c.PerAddress > c.All {
			o.Fault(o.At("perAddress", "all"), "server.connections.perAddress is more than server.connections.all", "at most server.connections.all")
		}
	}))
}

func (c *Compression) rows() *setting.Setting {
	return setting.Mapping("compression",
		"Compression of answers by gzip for clients that accept it, or the word `off` to disable it. Answers that providers have encoded are not "+
			"changed.",
		setting.Value("minimum", &c.Minimum, rule.Size(), 1<<10, "Smaller answers are not compressed."),
	).OrWord("off", func(o *setting.Object, n *yamltree.Node) {
		if c.Off = n.Text == "off"; !c.Off {
			o.Fault(n, "server.compression: "+yamltree.Quote(n.Text)+" is not a valid value", "{minimum: …}, off")
		}
	})
}

// rows returns the settings. The files of a certificate may change while the gateway runs, but not
// whether there is one.
func (t *TLS) rows(r *files.Reader) *setting.Setting {
	const allowed = "{cert: …, key: …}, terminated"
	changed := func(was, is TLS) bool {
		return (was.Cert == "") != (is.Cert == "") || was.Terminated != is.Terminated
	}
	return setting.RestartOnly(t, changed, setting.Mapping("tls",
		"TLS of the public listener: the files of its certificate and key, or the word `terminated` if a proxy in front of the gateway terminates "+
			"TLS.",
		setting.Value("cert", &t.Cert, rule.PEMFile(), "", "The certificate, followed by its intermediate certificates."),
		setting.Value("key", &t.Key, rule.PEMFile(), "", "The certificate's private key."),
	).Check(func(o *setting.Object) {
		files.CheckPEMPair(r, o, &t.Cert, &t.Key)
		if !o.Broken && o.Get("cert") == nil && o.Get("key") == nil {
			o.Fault(o.Node, "server.tls names no files", allowed)
		}
	}).OrWord("terminated", func(o *setting.Object, n *yamltree.Node) {
		t.Terminated = n.Text == "terminated"
		if !t.Terminated {
			o.Fault(n, "server.tls: "+yamltree.Quote(n.Text)+" is not a valid value", allowed)
		}
	}).IfGiven().Default("no TLS"))
}

// adminTokenRows returns the settings of the admin tokens. They may change while the gateway runs,
// but not all be removed, because the admin listener may be reachable beyond loopback.
func (s *Server) adminTokenRows(r *files.Reader) (single, further *setting.Setting) {
	names, hashes := r.Unique("the admin token"), r.Unique("the hash of an admin token")
	add := func(o *setting.Object, t AdminToken) {
		if at := o.Valid("sha256"); at != nil && t.Name != "" && hashes.Add(at, t.SHA256, "") && names.Add(at, t.Name, t.Name) {
			s.AdminTokens = append(s.AdminTokens, t)
		}
	}
	var token AdminToken
	changed := func(was, is []AdminToken) bool { return len(was) > 0 && len(is) == 0 }
	single = setting.RestartOnly(&s.AdminTokens, changed, setting.Mapping("adminToken",
		"Access to the admin listener. With a token, only `/healthz`, `/readyz` and `/metrics` answer without it.",
		setting.Required("sha256", &token.SHA256, rule.SHA256(), "The hash of the bearer token: `printf %s \"$TOKEN\" | sha256sum`."),
		setting.Value("name", &token.Name, rule.Text(), "admin", "The name of its holder in audit lines."),
	).Check(func(o *setting.Object) { add(o, token) }).IfGiven().Default("none; loopback only"))
	further = setting.Mappings("adminTokens", "Further tokens of the admin listener, one per user, so that audit lines show who did what.",
		func(t *AdminToken) []*setting.Setting {
			return []*setting.Setting{
				setting.Required("sha256", &t.SHA256, rule.SHA256(), "The hash of the bearer token."),
				setting.Required("name", &t.Name, rule.Text(), "The name of its holder in audit lines, which must be unique."),
			}
		}, add).Default("none")
	return single, further
}

// Process limits the gateway process's use of its machine.
type Process struct {
	Garbage     int64   // bytes
	MemoryShare float64 // above 0 and up to 1
}

func (p *Process) rows() *setting.Setting {
	return setting.Mapping("process", "Resources of the gateway process. The number of processors it uses follows from its container's limit.",
		setting.Value("garbage", &p.Garbage, rule.Size(), 64<<20,
			"How much unused memory may accumulate before it is collected, limited to four times the memory in use; if more is in use, as much as "+
				"that. More memory saves processor time. Memory of a burst is returned to the system once the gateway has been almost idle for "+
				"eight seconds. The environment variable `GOGC` overrides both.").RestartOnly(),
		setting.Value("memoryShare", &p.MemoryShare, rule.PositivePercentage(), 0.9,
			"Fraction of the container's memory above which unused memory is collected as often as necessary. The environment variable "+
				"`GOMEMLIMIT` overrides it.").RestartOnly(),
	)
}
