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
	"time"

	"portico/arm"
	"portico/config"
	"portico/gateway/exchange"
	"portico/gateway/observe"
	"portico/internal/connections"
	"portico/tracing"
)

// refuseAmbiguous refuses a request whose end two HTTP readers could place differently.
func refuseAmbiguous(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if fault := exchange.OneLength(r.Context()); fault != nil {
			fail(w, fault)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// forbidCaching sets headers so that no answer is cached, since it may hold data of all
// tenants, or interpreted as another content type.
func forbidCaching(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})
}

// boundContent bounds the time in which a request's content has to arrive.
func boundContent(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		exchange.BoundContent(w, r, maxContent)
		next.ServeHTTP(w, r)
	})
}

// guardHost refuses requests that a foreign page could make a browser send: with a host name
// that someone else's DNS may point here, or with an Origin other than the console's own.
// A navigation from another site may open the console's page, but no other path.
func (l *listener) guardHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		host = strings.ToLower(strings.Trim(host, "[]"))
		_, err := netip.ParseAddr(host)
		known := err == nil || host == "localhost" || slices.Contains(l.Config.Server.AdminHosts, host)
		site := r.Header.Get("Sec-Fetch-Site")
		foreign := (site == "cross-site" || site == "same-site") && r.URL.Path != "/"
		if !known || foreign || len(r.Header["Origin"]) > 0 && !l.admitsOrigin(r) {
			fail(w, foreignPage())
			return
		}
		next.ServeHTTP(w, r)
	})
}

// admitsOrigin reports whether a request with an Origin comes from the console. Some browsers
// send an Origin with requests for script modules, which cannot have the console's header.
func (l *listener) admitsOrigin(r *http.Request) bool {
	if r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/console/") && r.URL.Path != sessionPath {
		return l.ownOrigin(r)
	}
	if !l.fromOwnPage(r) {
		return false
	}
	if len(l.Config.Server.AdminTokens) == 0 || r.URL.Path == sessionPath {
		return true
	}
	_, ok := l.session(r)
	return ok
}

// requireToken refuses requests without an admin token or a session started with one, if any
// token is configured. It records the token's name for the audit log.
func (l *listener) requireToken(next http.Handler) http.Handler {
	tokens := l.Config.Server.AdminTokens
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(tokens) > 0 {
			token, fault := l.callerToken(r)
			if fault != nil {
				if fault.Code == arm.AuthenticationFailed {
					w.Header().Set("WWW-Authenticate", `Bearer realm="portico admin"`)
				}
				fail(w, fault)
				return
			}
			observe.SetTokenName(r.Context(), token.Name)
			if len(r.Header["Authorization"]) == 0 && exchange.Changes(r.Method) && !l.fromOwnPage(r) {
				fail(w, foreignPage())
				return
			}
		}
		connections.Authenticated(r.Context())
		next.ServeHTTP(w, r)
	})
}

// callerToken returns the admin token of a request's Authorization header or, if it has no
// such header, of its session.
func (l *listener) callerToken(r *http.Request) (config.AdminToken, *arm.Error) {
	if len(r.Header["Authorization"]) == 0 {
		token, ok := l.session(r)
		if !ok {
			return token, arm.NewError(arm.AuthenticationFailed)
		}
		return token, nil
	}
	token := bearerOf(r)
	if token == "" {
		return config.AdminToken{}, arm.NewError(arm.AuthenticationFailed)
	}
	return l.findToken(r, token)
}

// bearerOf returns a request's bearer token, or "".
func bearerOf(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// stillAuthorized reports whether the sender of a long request is still allowed to go on: its
// session may have ended, or a new configuration may have removed its token.
func (l *listener) stillAuthorized(r *http.Request) bool {
	tokens := l.TokensNow()
	if len(tokens) == 0 {
		return true
	}
	if len(r.Header["Authorization"]) > 0 {
		_, known := matchToken(tokens, bearerOf(r))
		return known
	}
	_, ok := l.sessionAmong(tokens, r, false)
	return ok
}

// findToken returns the configured token that equals token. After several wrong guesses a
// client has to wait, even with a correct token that it has not used before: otherwise the
// answer would reveal that the guess is correct.
func (l *listener) findToken(r *http.Request, token string) (config.AdminToken, *arm.Error) {
	client := tracing.ClientOf(r.RemoteAddr, r.Header, l.Config.Server.TrustedProxies).Address
	found, known := matchToken(l.Config.Server.AdminTokens, token)
	if wait := l.Attempts.Judge(client, token, found.SHA256, time.Now()); wait > 0 {
		tooMany := arm.NewError(arm.TooManyRequests, "too many wrong tokens were sent from this address")
		tooMany.RetryAfter = wait
		return config.AdminToken{}, tooMany
	}
	if !known {
		return found, arm.NewError(arm.AuthenticationFailed)
	}
	return found, nil
}

// matchToken finds a token by its hash. It compares all of them, so that its duration reveals
// nothing.
func matchToken(tokens []config.AdminToken, token string) (found config.AdminToken, known bool) {
	sum := sha256.Sum256([]byte(token))
	hash := hex.EncodeToString(sum[:])
	for _, t := range tokens {
		if subtle.ConstantTimeCompare([]byte(t.SHA256), []byte(hash)) == 1 {
			found, known = t, true
		}
	}
	return found, known
}
