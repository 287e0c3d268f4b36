package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"portico/arm"
	"portico/config"
	"portico/connections"
	"portico/gateway/exchange"
	"portico/gateway/observe"
)

// refuseAmbiguous refuses what exchange.EndAmbiguous has marked.
func refuseAmbiguous(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if fault := exchange.OneLength(r.Context()); fault != nil {
			fail(w, fault)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// guardHost refuses what a browser could be made to send: a host name that
// somebody else's DNS may point here, and any origin.
func (l *listener) guardHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		host = strings.ToLower(strings.Trim(host, "[]"))
		_, err := netip.ParseAddr(host)
		known := err == nil || host == "localhost" || slices.Contains(l.Config.Server.AdminHosts, host)
		if !known || len(r.Header["Origin"]) > 0 {
			fail(w, arm.NewError(arm.Forbidden, "The admin listener answers neither web pages nor foreign host names."))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// askForToken asks for an admin token where any is configured, and notes whose it
// was.
func (l *listener) askForToken(next http.Handler) http.Handler {
	tokens := l.Config.Server.AdminTokens
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(tokens) > 0 {
			scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
			known, name := findToken(tokens, strings.TrimSpace(token))
			if !strings.EqualFold(scheme, "Bearer") || !known {
				w.Header().Set("WWW-Authenticate", `Bearer realm="portico admin"`)
				fail(w, arm.NewError(arm.AuthenticationFailed))
				return
			}
			observe.SetTokenName(r.Context(), name)
		}
		connections.Authenticated(r.Context())
		next.ServeHTTP(w, r)
	})
}

// findToken returns the name of a token. It compares all of them, so that its
// duration tells nothing.
func findToken(tokens []config.AdminToken, token string) (known bool, name string) {
	sum := sha256.Sum256([]byte(token))
	hash := hex.EncodeToString(sum[:])
	for _, t := range tokens {
		if subtle.ConstantTimeCompare([]byte(t.SHA256), []byte(hash)) == 1 {
			known, name = true, t.Name
		}
	}
	return known, name
}
