package config

import (
	"fmt"
	"net"

	"portico/config/files"
	"portico/config/rule"
	"portico/config/setting"
	"portico/config/yamltree"
)

// The modes of authentication.
const (
	AuthNone    = "none"    // one fixed caller; loopback only
	AuthTokens  = "tokens"  // static bearer tokens
	AuthMethods = "methods" // the configured methods; not written in files
)

// Auth is the authentication and authorization of callers.
type Auth struct {
	Mode         string
	Issuers      []Issuer
	Keys         IssuerKeys
	Certificates ClientCertificates
	Tokens       []Token
	// Roles is RolesEnforced or RolesIgnored. It has no effect without authentication.
	Roles  string
	Owners []Owner
}

// RolesEnforced reports whether callers may do only what their roles allow.
func (a *Auth) RolesEnforced() bool { return a.Mode != AuthNone && a.Roles != RolesIgnored }

// Token is a bearer token, known by its hash, and the caller that uses it.
type Token struct {
	SHA256   string // hexadecimal
	TenantID string
	ObjectID string
	Name     string // may be empty
	AppID    string // may be empty
}

// rows returns the settings. Tokens may change while the gateway runs, but not whether callers
// need one.
func (a *Auth) rows(r *files.Reader) *setting.Setting {
	hashes := r.Unique("the hash of a token")
	modeChanged := func(was, is Auth) bool { return (was.Mode == AuthNone) != (is.Mode == AuthNone) }
	return setting.Mapping("auth", "Authentication and authorization of callers. A request may have an issuer's token, a client certificate, or a "+
		"static token. They are tried in this order, and the first method that recognizes its credential decides.",
		setting.RestartOnly(a, modeChanged, setting.Value("mode", &a.Mode, rule.OneOf(AuthNone, AuthTokens), AuthNone,
			"How callers authenticate. `none`: every request has the same fixed caller; allowed on loopback listeners only. `tokens`: only "+
				"callers with one of `auth.tokens`. Leave it out if `issuers` or `clientCertificates` are given: then only those and `tokens` "+
				"authenticate callers. A change to or from `none` needs a restart.")),
		issuerRows(r, &a.Issuers),
		a.Keys.rows(),
		a.Certificates.rows(r),
		setting.Mappings("tokens", "Bearer tokens, given by their hashes, and their callers.", (*Token).rows,
			func(o *setting.Object, t Token) {
				if at := o.Valid("sha256"); at != nil && hashes.Add(at, t.SHA256, "") {
					a.Tokens = append(a.Tokens, t)
				}
			}).Default("none"),
		setting.Value("roles", &a.Roles, rule.OneOf(RolesEnforced, RolesIgnored), RolesEnforced,
			"`enforced`: callers may do only what their assigned roles allow. `ignored`: every caller of a tenant may do everything in the "+
				"tenant's subscriptions. Without authentication (`mode: none`) the setting has no effect."),
		ownerRows(r, &a.Owners),
	).Check(func(o *setting.Object) {
		if o.Get("mode") == nil && (listGiven(o.Get("issuers")) || o.Get("clientCertificates") != nil || listGiven(o.Get("tokens"))) {
			a.Mode = AuthMethods
		}
	})
}

func (t *Token) rows() []*setting.Setting {
	return []*setting.Setting{
		setting.Required("sha256", &t.SHA256, rule.SHA256(),
			"The hash of the token: `printf %s \"$TOKEN\" | sha256sum`. A long, random token cannot be guessed from its hash."),
		setting.Required("tenantId", &t.TenantID, rule.GUID(), "The caller's tenant. The caller sees only subscriptions of this tenant."),
		setting.Required("objectId", &t.ObjectID, rule.GUID(), "The caller's object id. Operations that the caller starts belong to this id and "+
			"the tenant."),
		setting.Value("name", &t.Name, rule.Text(), "", "The caller's name, as sent to providers."),
		setting.Value("appId", &t.AppID, rule.GUID(), "", "The id of the caller's application, as sent to providers."),
	}
}

// checkAccess checks that the listeners' addresses suit their authentication.
func checkAccess(server, auth *setting.Object, c *Config) {
	open := !isLoopback(c.Server.Listen)
	encrypted := server.Get("tls") != nil // a faulty one has been reported
	switch {
	case c.Auth.Mode == AuthNone && open:
		server.Fault(server.At("listen"), fmt.Sprintf("auth.mode is none, but server.listen %s is not loopback", yamltree.Quote(c.Server.Listen)),
			"a loopback address such as 127.0.0.1:8080, or auth.mode: tokens with server.tls")
	case c.Auth.Mode != AuthNone && open && !encrypted:
		server.Fault(server.At("listen"), fmt.Sprintf("server.listen %s is not loopback, so tokens would be sent in plain text", yamltree.Quote(c.Server.Listen)),
			"server.tls with cert and key, or tls: terminated if a proxy in front terminates TLS")
	}
	items := auth.Get("tokens")
	switch hasTokens := listGiven(items); {
	case c.Auth.Mode == AuthTokens && !hasTokens && !auth.Broken:
		auth.Fault(auth.At("mode"), "auth.mode is tokens, but auth.tokens is empty, so no one could call",
			"auth.tokens with at least one {sha256, tenantId, objectId}")
	case c.Auth.Mode == AuthNone && hasTokens:
		auth.Fault(items, "auth.tokens are given, but auth.mode is none", "auth.mode: tokens, or no tokens")
	}
	checkMethods(server, auth, c)
	checkOwners(auth, c)
	if !isLoopback(c.Server.Admin) && server.Get("adminToken") == nil && !listGiven(server.Get("adminTokens")) {
		server.Fault(server.At("admin"), fmt.Sprintf("server.admin %s is not loopback and has no token", yamltree.Quote(c.Server.Admin)),
			"a loopback address such as 127.0.0.1:8081, or server.adminToken: {sha256: …}")
	}
	for _, t := range c.Auth.Tokens {
		for _, admin := range c.Server.AdminTokens {
			if t.SHA256 == admin.SHA256 {
				server.Fault(server.At("adminToken", "adminTokens"), "server.adminToken is also a client's token", "a different token")
			}
		}
	}
}

// checkMethods reports issuers and certificates that contradict other settings.
func checkMethods(server, auth *setting.Object, c *Config) {
	for _, key := range []string{"issuers", "clientCertificates"} {
		if at := auth.Get(key); listGiven(at) && c.Auth.Mode != AuthMethods {
			auth.Fault(at, fmt.Sprintf("auth.%s is given, but auth.mode is %s", key, c.Auth.Mode),
				"no auth.mode: issuers, clientCertificates and tokens can be combined")
		}
	}
	if at := auth.Get("clientCertificates"); at != nil && (c.Server.TLS.Terminated || server.Get("tls") == nil) {
		auth.Fault(at, "auth.clientCertificates is given, but the public listener has no TLS", "server.tls with cert and key")
	}
}

// listGiven reports whether a list is present and not empty. A value that is not a list has been
// reported, and counts as given.
func listGiven(n *yamltree.Node) bool {
	return n != nil && (n.Kind != yamltree.List || len(n.Items) > 0)
}

// isLoopback reports whether only this machine can reach a listening address.
func isLoopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	return rule.LoopbackHost(host)
}
