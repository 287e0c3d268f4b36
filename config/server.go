package config

import (
	"fmt"
	"strings"

	"portico/arm"
	"portico/regions"
)

func readServer(root object, s *Server, files fileReader) object {
	o := root.child("server", "publicURL", "listen", "admin", "region", "tls", "connections", "trustedProxies",
		"adminToken", "adminTokens", "adminHosts", "drain", "watchInterval")
	o.need("publicURL", addressForm)
	s.PublicURL = readAddress(o, "publicURL", address, "", addressForm)
	set(o, "listen", &s.Listen, listener())
	set(o, "admin", &s.Admin, listener())
	if s.Listen == s.Admin && !strings.HasSuffix(s.Listen, ":0") {
		o.r.fault(o.at("admin", "listen"), "server.listen and server.admin are the same address", "two addresses")
	}
	must(o, "region", &s.Region, location())
	readServerTLS(o, &s.TLS, files)
	readConnections(o, &s.Connections)
	for _, n := range o.list("trustedProxies") {
		if prefix, ok := value(o.r, n, "server.trustedProxies", network()); ok {
			s.TrustedProxies = append(s.TrustedProxies, prefix)
		}
	}
	readAdminTokens(o, s)
	for _, n := range o.list("adminHosts") {
		if host, ok := value(o.r, n, "server.adminHosts", hostName()); ok {
			s.AdminHosts = append(s.AdminHosts, host)
		}
	}
	drain := o.child("drain", "delay", "limit")
	set(drain, "delay", &s.Drain.Delay, orZero())
	set(drain, "limit", &s.Drain.Limit, positive())
	set(o, "watchInterval", &s.WatchInterval, orZero())
	return o
}

func readConnections(server object, c *Connections) {
	o := server.child("connections", "all", "perAddress", "idle", "idleUnauthenticated")
	set(o, "all", &c.All, count())
	set(o, "perAddress", &c.PerAddress, count())
	if c.PerAddress > c.All {
		o.r.fault(o.at("perAddress", "all"), "server.connections.perAddress is more than server.connections.all", "at most server.connections.all")
	}
	set(o, "idle", &c.Idle, positive())
	set(o, "idleUnauthenticated", &c.IdleUnauthenticated, positive())
}

func readAdminTokens(o object, s *Server) {
	names, hashes := o.r.distinct("the admin token"), o.r.distinct("the hash of an admin token")
	add := func(at *node, t AdminToken) {
		if at != nil && t.Name != "" && hashes.add(at, t.SHA256, "") && names.add(at, t.Name, t.Name) {
			s.AdminTokens = append(s.AdminTokens, t)
		}
	}
	single := AdminToken{Name: "admin"}
	if token := o.child("adminToken", "sha256", "name"); o.get("adminToken") != nil {
		set(token, "name", &single.Name, plainText())
		add(must(token, "sha256", &single.SHA256, hash()), single)
	}
	for _, item := range o.children("adminTokens", "sha256", "name") {
		var t AdminToken
		must(item, "name", &t.Name, plainText())
		add(must(item, "sha256", &t.SHA256, hash()), t)
	}
}

func readServerTLS(o object, t *TLS, files fileReader) {
	o.r.notes.orWord(join(o.path, "tls"), "terminated")
	n := o.get("tls")
	if n == nil {
		return
	}
	if n.kind == scalar {
		if n.text != "terminated" {
			o.r.fault(n, fmt.Sprintf("server.tls: %s is no legal value", quote(n.text)), "{cert: …, key: …}, terminated")
		}
		t.Terminated = n.text == "terminated"
		return
	}
	tls := o.child("tls", "cert", "key")
	if t.Cert, t.Key = files.keyPair(tls); !tls.broken && tls.get("cert") == nil && tls.get("key") == nil {
		o.r.fault(n, "server.tls names no files", "{cert: …, key: …}, terminated")
	}
}

func readAuth(root object, a *Auth) object {
	o := root.child("auth", "mode", "tokens")
	set(o, "mode", &a.Mode, oneOf(AuthNone, AuthTokens))
	twice := o.r.distinct("the hash of a token")
	for _, item := range o.children("tokens", "sha256", "tenantId", "objectId", "name", "appId") {
		var t Token
		sha := must(item, "sha256", &t.SHA256, hash())
		must(item, "tenantId", &t.TenantID, guid())
		must(item, "objectId", &t.ObjectID, guid())
		set(item, "name", &t.Name, plainText())
		set(item, "appId", &t.AppID, guid())
		if sha != nil && twice.add(sha, t.SHA256, "") {
			a.Tokens = append(a.Tokens, t)
		}
	}
	return o
}

// checkAccess holds the listeners to what their callers can prove.
func checkAccess(server, auth object, c *Config) {
	r := server.r
	open := !loopback(c.Server.Listen)
	encrypted := server.get("tls") != nil // if it is wrong, that was said
	switch {
	case c.Auth.Mode == AuthNone && open:
		r.fault(server.at("listen"), fmt.Sprintf("auth.mode is none, but server.listen %s is not loopback", quote(c.Server.Listen)),
			"a loopback address such as 127.0.0.1:8080, or auth.mode: tokens with server.tls")
	case c.Auth.Mode == AuthTokens && open && !encrypted:
		r.fault(server.at("listen"), fmt.Sprintf("server.listen %s is not loopback, so tokens would travel in the open", quote(c.Server.Listen)),
			"server.tls with cert and key, or tls: terminated where something in front speaks TLS")
	}
	items := auth.get("tokens")
	switch hasTokens := given(items); {
	case c.Auth.Mode == AuthTokens && !hasTokens && !auth.broken:
		r.fault(auth.at("mode"), "auth.mode is tokens, but there are none, so nobody could call",
			"auth.tokens with at least one {sha256, tenantId, objectId}")
	case c.Auth.Mode == AuthNone && hasTokens:
		r.fault(items, "auth.tokens are given, but auth.mode is none", "auth.mode: tokens, or no tokens")
	}
	if !loopback(c.Server.Admin) && server.get("adminToken") == nil && !given(server.get("adminTokens")) {
		r.fault(server.at("admin"), fmt.Sprintf("server.admin %s is not loopback and has no token", quote(c.Server.Admin)),
			"a loopback address such as 127.0.0.1:8081, or server.adminToken: {sha256: …}")
	}
	for _, t := range c.Auth.Tokens {
		for _, admin := range c.Server.AdminTokens {
			if t.SHA256 == admin.SHA256 {
				r.fault(server.at("adminToken", "adminTokens"), "server.adminToken is also a client's token", "a token of its own")
			}
		}
	}
}

// given reports whether a list is there and not empty; if it is wrong, that was
// said.
func given(n *node) bool { return n != nil && (n.kind != list || len(n.items) > 0) }

// location reads the name of a region into its normalised form.
func location() rule[string] {
	return rule[string]{
		parse: func(text string) (string, bool) {
			l := arm.Location(text)
			return l, arm.ValidLocation(l) && l != arm.GlobalLocation
		},
		noun:    "region name",
		allowed: "a letter followed by letters and digits, at most 63, other than global",
		shape:   matching(locationPattern),
	}
}

// checkRegion reports a name that is no region of the map.
func checkRegion(r *report, at *node, path, name string, m *regions.Map) bool {
	if _, ok := m.Region(name); ok {
		return true
	}
	r.fault(at, fmt.Sprintf("%s %s is no region of this configuration", path, quote(name)), regionNames(m))
	return false
}

func regionNames(m *regions.Map) string {
	var names []string
	for _, region := range m.Regions() {
		names = append(names, region.Name)
	}
	if len(names) == 0 {
		return "a name from regions, which is empty"
	}
	return choice(names)
}
