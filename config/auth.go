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
	return setting.Mapping("auth", "Who may call. A request is asked for a token of an issuer, then for a certificate, then for a static token; "+
		"the first of them that knows what it brings decides.",
		setting.RestartOnly(a, modeChanged, setting.Value("mode", &a.Mode, rule.OneOf(AuthNone, AuthTokens), AuthNone,
			"How callers are known. `none`: one fixed caller, and loopback listeners only. `tokens`: those who hold one of `auth.tokens`, and no one else. "+
				"Leave it out where there are `issuers` or `clientCertificates`: then no one calls but by these and by `tokens` beside them. To and from "+
				"`none` it needs a restart.")),
		issuerRows(r, &a.Issuers),
		a.Keys.rows(),
		a.Certificates.rows(r),
		setting.Mappings("tokens", "Bearer tokens, by their hashes, and whom each stands for.", (*Token).rows,
			func(o *setting.Object, t Token) {
				if at := o.Right("sha256"); at != nil && hashes.Add(at, t.SHA256, "") {
					a.Tokens = append(a.Tokens, t)
				}
			}).Default("none"),
		setting.Value("roles", &a.Roles, rule.OneOf(RolesEnforced, RolesIgnored), RolesEnforced,
			"`enforced`: callers may do what the roles that they are assigned allow, and nothing else. `ignored`: every caller of a tenant may do "+
				"everything in its subscriptions. "+
				"Without authentication (`mode: none`) there is no one to assign a role to: it means nothing then."),
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
			"The hash of the token: `printf %s \"$TOKEN\" | sha256sum`. A token that is random and long cannot be guessed from it."),
		setting.Required("tenantId", &t.TenantID, rule.GUID(), "The tenant of the caller, who sees the subscriptions of that tenant only."),
		setting.Required("objectId", &t.ObjectID, rule.GUID(), "The caller's object id; with the tenant it owns the operations that the caller begins."),
		setting.Value("name", &t.Name, rule.Text(), "", "The caller's name, as providers are told it."),
		setting.Value("appId", &t.AppID, rule.GUID(), "", "The id of the caller's application, as providers are told it."),
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
		server.Fault(server.At("listen"), fmt.Sprintf("server.listen %s is not loopback, so tokens would travel in the open", yamltree.Quote(c.Server.Listen)),
			"server.tls with cert and key, or tls: terminated where something in front speaks TLS")
	}
	items := auth.Get("tokens")
	switch hasTokens := listGiven(items); {
	case c.Auth.Mode == AuthTokens && !hasTokens && !auth.Broken:
		auth.Fault(auth.At("mode"), "auth.mode is tokens, but there are none, so no one could call",
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
				server.Fault(server.At("adminToken", "adminTokens"), "server.adminToken is also a client's token", "a token of its own")
			}
		}
	}
}

// checkMethods reports issuers and certificates that contradict other settings.
func checkMethods(server, auth *setting.Object, c *Config) {
	for _, key := range []string{"issuers", "clientCertificates"} {
		if at := auth.Get(key); listGiven(at) && c.Auth.Mode != AuthMethods {
			auth.Fault(at, fmt.Sprintf("auth.%s is given, but auth.mode is %s", key, c.Auth.Mode),
				"no auth.mode: issuers, clientCertificates and tokens hold side by side")
		}
	}
	if at := auth.Get("clientCertificates"); at != nil && (c.Server.TLS.Terminated || server.Get("tls") == nil) {
		auth.Fault(at, "auth.clientCertificates is given, but the public listener does not speak TLS", "server.tls with cert and key")
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
