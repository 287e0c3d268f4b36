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

// refuseAmbiguous refuses a request that two readers could see end at different places.
func refuseAmbiguous(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if fault := exchange.OneLength(r.Context()); fault != nil {
			fail(w, fault)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// keepFromCaches sets the headers by which no answer is cached, or read as another type
// than its own: it may hold data of all tenants.
func keepFromCaches(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})
}

// boundContent sets the time in which a request's content has to arrive.
func boundContent(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		exchange.BoundContent(w, r, maxContent)
		next.ServeHTTP(w, r)
	})
}

// guardHost refuses what a browser could be made to send: a host name that
// somebody else's DNS may point here, and any origin but that of the console itself,
// for requests of its scripts, where somebody is signed in or signs in. What a browser
// says to come from another page may show the console, and nothing else.
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

// admitsOrigin reports whether a request that bears an Origin is the console's own. Those
// for its modules bear one in some browsers, and can have no header.
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

// askForToken asks for an admin token where any is configured, or a session that was
// begun with one, and notes whose it was.
func (l *listener) askForToken(next http.Handler) http.Handler {
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

// callerToken is the token that a request brings or, where it brings none, that of its
// session.
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

// bearerOf is the token that a request brings; "" for none.
func bearerOf(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// stays reports whether whoever a request came from may still go on with it: a session may
// have ended meanwhile, and another configuration may have taken its token away.
func (l *listener) stays(r *http.Request) bool {
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

// findToken finds the token that a request brings. A client from which several were guessed
// has to wait, also with a right one that it has not used before: else an answer would tell
// which it is.
func (l *listener) findToken(r *http.Request, token string) (config.AdminToken, *arm.Error) {
	client := tracing.ClientOf(r.RemoteAddr, r.Header, l.Config.Server.TrustedProxies).Address
	found, known := matchToken(l.Config.Server.AdminTokens, token)
	if wait := l.Attempts.Judge(client, token, found.SHA256, time.Now()); wait > 0 {
		tooMany := arm.NewError(arm.TooManyRequests, "too many tokens were guessed from this address")
		tooMany.RetryAfter = wait
		return config.AdminToken{}, tooMany
	}
	if !known {
		return found, arm.NewError(arm.AuthenticationFailed)
	}
	return found, nil
}

// matchToken finds a token. It compares all of them, so that its duration tells nothing.
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
