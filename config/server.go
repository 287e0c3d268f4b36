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
	return setting.Mapping("server", "How the gateway itself is reached.",
		setting.Required("publicURL", &s.PublicURL, rule.Address(),
			"What clients dial. The `referer` header, polling URLs and the links of lists are built from it."),
		setting.Value("listen", &s.Listen, rule.ListenAddress(), "127.0.0.1:8080",
			"Where the public listener listens. Beyond loopback it needs `auth.mode: tokens`, and TLS or the word that something in front speaks it. "+
				"Port 0 lets the system choose.").RestartOnly(),
		setting.Value("admin", &s.Admin, rule.ListenAddress(), "127.0.0.1:8081",
			"Where the admin listener listens: metrics, health, profiles, subscriptions, jobs. Beyond loopback it needs `server.adminToken` "+
				"or `server.adminTokens`.").RestartOnly(),
		setting.Required("region", &s.Region, rule.RegionName(),
			"The region in which this gateway runs, one of `regions`. It is part of the routing id of every request."),
		setting.Removed("httpServer", "HTTP/1.1 is served as by `http1`, which was the default"),
		s.TLS.rows(r),
		s.Compression.rows(),
		s.Connections.rows(),
		setting.List("trustedProxies", rule.Network(),
			"The networks whose `X-Forwarded-For` counts, and with `tracing` their `traceparent`; from anywhere else both are ignored. Their connections "+
				"are not bounded by address.",
			func(_ *yamltree.Node, p netip.Prefix) { s.TrustedProxies = append(s.TrustedProxies, p) }).Default("none"),
		adminToken,
		adminTokens,
		setting.List("adminHosts", rule.HostName(),
			"The host names by which the admin listener may be called, beside IP addresses and localhost. Others get 403, "+
				"so that no web page reaches it through a name of its own.",
			func(_ *yamltree.Node, host string) { s.AdminHosts = append(s.AdminHosts, host) }).Default("none"),
		setting.Mapping("drain", "How the gateway stops when it is told to.",
			setting.Value("delay", &s.Drain.Delay, rule.Duration(), 5*time.Second,
				"For this long it reports itself not ready and goes on as before, so that load balancers notice."),
			setting.Value("limit", &s.Drain.Limit, rule.PositiveDuration(), 30*time.Second,
				"For this long, after that, requests under way may finish; then they are cut off."),
		),
		setting.Value("watchInterval", &s.WatchInterval, rule.Duration(), 2*time.Second,
			"How often the files of the configuration, and those of keys and certificates, are looked at. Once a change has stood still for "+
				"this long, it is taken over; `0s`: only at SIGHUP and `POST /admin/reload`."),
	).Check(func(o *setting.Object) {
		if s.Listen == s.Admin && !strings.HasSuffix(s.Listen, ":0") {
			o.Fault(o.At("admin", "listen"), "server.listen and server.admin are the same address", "two addresses")
		}
	})
}

func (c *Connections) rows() *setting.Setting {
	return setting.RestartOnly(c, nil, setting.Mapping("connections",
		"How many connections the public listener has, and how long they stay. Where all are in use, one from an address "+
			"with few takes the place of the newest from the address with most.",
		setting.Value("all", &c.All, rule.Count(), 10000,
			"How many there are at a time. Each takes some 40 KiB of memory while it is in use, and with HTTP/2 also while it waits for a request; with "+
				"HTTP/1.1 it then takes 5 KiB, with TLS 16. Each takes a file of what the system allows the process."),
		setting.Value("perAddress", &c.PerAddress, rule.Count(), 5000,
			"How many there are of one address at a time; IPv6 addresses count by their /64. Addresses of `server.trustedProxies` have no such "+
				"bound; behind a balancer that hides its clients' addresses and names them nowhere, set it to `server.connections.all`, which is the most."),
		setting.Value("idle", &c.Idle, rule.PositiveDuration(), 2*time.Minute,
			"How long one stays without a request."),
		setting.Value("idleUnauthenticated", &c.IdleUnauthenticated, rule.PositiveDuration(), 15*time.Second,
			"How long one stays without a request while none over it was authenticated: from its beginning, TLS and the headers "+
				"of the first request included, and after each answer."),
	).Check(func(o *setting.Object) {
		if c.PerAddress > c.All {
			o.Fault(o.At("perAddress", "all"), "server.connections.perAddress is more than server.connections.all", "at most server.connections.all")
		}
	}))
}

func (c *Compression) rows() *setting.Setting {
	return setting.Mapping("compression",
		"Answers are compressed by gzip for clients that ask for it, or with the word `off` for none. What providers have encoded goes as it is.",
		setting.Value("minimum", &c.Minimum, rule.Size(), 1<<10, "Shorter answers are not compressed."),
	).OrWord("off", func(o *setting.Object, n *yamltree.Node) {
		if c.Off = n.Text == "off"; !c.Off {
			o.Fault(n, "server.compression: "+yamltree.Quote(n.Text)+" is no legal value", "{minimum: …}, off")
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
		"TLS of the public listener: the files of its certificate and key, or the word `terminated` where something in front "+
			"of the gateway speaks TLS for it.",
		setting.Value("cert", &t.Cert, rule.PEMFile(), "", "The certificate, followed by those that lead to its root."),
		setting.Value("key", &t.Key, rule.PEMFile(), "", "The certificate's private key."),
	).Check(func(o *setting.Object) {
		files.CheckPEMPair(r, o, &t.Cert, &t.Key)
		if !o.Broken && o.Get("cert") == nil && o.Get("key") == nil {
			o.Fault(o.Node, "server.tls names no files", allowed)
		}
	}).OrWord("terminated", func(o *setting.Object, n *yamltree.Node) {
		t.Terminated = n.Text == "terminated"
		if !t.Terminated {
			o.Fault(n, "server.tls: "+yamltree.Quote(n.Text)+" is no legal value", allowed)
		}
	}).IfGiven().Default("no TLS"))
}

// adminTokenRows returns the settings of the admin tokens. They may change while the gateway runs,
// but not all be removed, because the admin listener may be reachable beyond loopback.
func (s *Server) adminTokenRows(r *files.Reader) (single, further *setting.Setting) {
	names, hashes := r.Unique("the admin token"), r.Unique("the hash of an admin token")
	add := func(o *setting.Object, t AdminToken) {
		if at := o.Right("sha256"); at != nil && t.Name != "" && hashes.Add(at, t.SHA256, "") && names.Add(at, t.Name, t.Name) {
			s.AdminTokens = append(s.AdminTokens, t)
		}
	}
	var token AdminToken
	changed := func(was, is []AdminToken) bool { return len(was) > 0 && len(is) == 0 }
	single = setting.RestartOnly(&s.AdminTokens, changed, setting.Mapping("adminToken",
		"Who may use the admin listener. With a token, only `/healthz`, `/readyz` and `/metrics` answer without it.",
		setting.Required("sha256", &token.SHA256, rule.SHA256(), "The hash of the bearer token: `printf %s \"$TOKEN\" | sha256sum`."),
		setting.Value("name", &token.Name, rule.Text(), "admin", "How audit lines call whoever holds it."),
	).Check(func(o *setting.Object) { add(o, token) }).IfGiven().Default("none; loopback only"))
	further = setting.Mappings("adminTokens", "Further tokens of the admin listener, one for each who uses it, so that audit lines tell who did what.",
		func(t *AdminToken) []*setting.Setting {
			return []*setting.Setting{
				setting.Required("sha256", &t.SHA256, rule.SHA256(), "The hash of the bearer token."),
				setting.Required("name", &t.Name, rule.Text(), "How audit lines call whoever holds it; each name once."),
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
	return setting.Mapping("process", "What the gateway's process takes of its machine. How many processors it uses follows from the bound of its container.",
		setting.Value("garbage", &p.Garbage, rule.Size(), 64<<20,
			"How much memory that is no longer needed may lie about before it is collected, up to four times what is needed; where more than this is "+
				"needed, as much as is. "+
				"More costs less processor time. What a burst took is given back to the system once there is hardly anything to do for eight seconds. "+
				"`GOGC` in the environment wins over both.").RestartOnly(),
		setting.Value("memoryShare", &p.MemoryShare, rule.PositivePercentage(), 0.9,
			"The part of the memory of the gateway's container beyond which it collects as often as it has to, to stay below. `GOMEMLIMIT` "+
				"in the environment wins.").RestartOnly(),
	)
}
