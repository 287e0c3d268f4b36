package admin

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/gorilla/mux"

	"portico/arm"
	"portico/config"
	"portico/gateway/observe"
	"portico/internal/connections"
	"portico/tracing"
)

// To sign in to the console, a browser sends an admin token once and gets a cookie with the
// random id of a session. Pages of other origins cannot use the session: a request that
// changes something needs the origin of this listener and a header that only a script of
// the console can set. All other requests with an Origin are refused.

const (
	sessionPath = "/console/session"
	// consoleHeader is set by the console's scripts, to byPerson if the user caused the
	// request.
	consoleHeader = "X-Portico-Console"
	byPerson      = "person"
	sessionTime   = 8 * 60 * 60 // lifetime of the cookie, in seconds
)

func (l *listener) consolePages(m *mux.Router, page http.Handler) {
	m.Path("/").Methods(http.MethodGet).Handler(page)
	m.Path(sessionPath).Methods(http.MethodGet).Handler(l.serve(l.showSession))
	m.Path(sessionPath).Methods(http.MethodPost).Handler(l.Audit.Admin(l.serve(l.signIn)))
	m.Path(sessionPath).Methods(http.MethodDelete).Handler(l.Audit.Admin(l.serve(l.signOut)))
	m.Path("/console/{file}").Methods(http.MethodGet).Handler(page)
}

// signedIn reports whether a browser may use the console.
type signedIn struct {
	SignedIn bool `json:"signedIn"`
	// Name is the name of the token; empty if none is required.
	Name string `json:"name,omitempty"`
	// Required: the listener has tokens, so a browser must sign in with one.
	Required bool `json:"asked"`
}

func (l *listener) showSession(w http.ResponseWriter, r *http.Request) (int, any, error) {
	if len(l.Config.Server.AdminTokens) == 0 {
		return http.StatusOK, signedIn{SignedIn: true}, nil
	}
	token, ok := l.session(r)
	return http.StatusOK, signedIn{SignedIn: ok, Name: token.Name, Required: true}, nil
}

// signIn starts a session for a browser that sends an admin token.
func (l *listener) signIn(w http.ResponseWriter, r *http.Request) (int, any, error) {
	if !l.fromOwnPage(r) {
		return 0, nil, foreignPage()
	}
	var sent struct {
		Token string `json:"token"`
	}
	if err := readBody(w, r, &sent); err != nil {
		return 0, nil, err
	}
	token, fault := l.findToken(r, strings.TrimSpace(sent.Token))
	if fault != nil {
		return 0, nil, fault
	}
	observe.SetTokenName(r.Context(), token.Name)
	connections.Authenticated(r.Context())
	l.setCookie(w, r, l.Sessions.Begin(token.SHA256), sessionTime)
	return http.StatusCreated, signedIn{SignedIn: true, Name: token.Name, Required: true}, nil
}

func (l *listener) signOut(w http.ResponseWriter, r *http.Request) (int, any, error) {
	if !l.fromOwnPage(r) {
		return 0, nil, foreignPage()
	}
	if token, ok := l.session(r); ok {
		observe.SetTokenName(r.Context(), token.Name)
	}
	if c, err := r.Cookie(cookieName(r)); err == nil {
		l.Sessions.End(c.Value)
	}
	l.setCookie(w, r, "", -1)
	return http.StatusOK, signedIn{Required: len(l.Config.Server.AdminTokens) > 0}, nil
}

func (l *listener) setCookie(w http.ResponseWriter, r *http.Request, id string, seconds int) {
	http.SetCookie(w, &http.Cookie{
		Name: cookieName(r), Value: id, Path: "/", MaxAge: seconds, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: l.scheme(r) == "https",
	})
}

// cookieName returns a name with the port in it: browsers send the cookies of a host to all
// its ports, and gateways on one machine must not overwrite each other's cookies.
func cookieName(r *http.Request) string {
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		return "portico-console-" + port
	}
	return "portico-console"
}

// session returns the token with which the request's session was started. There is none once
// the token has left the configuration.
func (l *listener) session(r *http.Request) (config.AdminToken, bool) {
	return l.sessionAmong(l.Config.Server.AdminTokens, r, r.Header.Get(consoleHeader) == byPerson)
}

// sessionAmong is like session with the given tokens. If byPerson is set, the session's idle
// time starts again.
func (l *listener) sessionAmong(tokens []config.AdminToken, r *http.Request, byPerson bool) (token config.AdminToken, ok bool) {
	c, err := r.Cookie(cookieName(r))
	if err != nil {
		return token, false
	}
	hash, ok := l.Sessions.Token(c.Value, byPerson)
	if !ok {
		return token, false
	}
	i := slices.IndexFunc(tokens, func(t config.AdminToken) bool { return t.SHA256 == hash })
	if i < 0 {
		l.Sessions.End(c.Value)
		return token, false
	}
	return tokens[i], true
}

// fromOwnPage reports whether a script of the console sent a request: it has the origin of
// this listener, and a header that neither forms nor pages of other origins can set.
func (l *listener) fromOwnPage(r *http.Request) bool {
	return l.ownOrigin(r) && r.Header.Get(consoleHeader) != "" && len(r.Header["Authorization"]) == 0
}

func (l *listener) ownOrigin(r *http.Request) bool {
	origins := r.Header["Origin"]
	return len(origins) == 1 && strings.EqualFold(origins[0], l.scheme(r)+"://"+r.Host)
}

// scheme returns the scheme that the browser used, as this listener or a trusted proxy in
// front of it sees it.
func (l *listener) scheme(r *http.Request) string {
	if r.TLS != nil {
		return "https"
	}
	if forwarded := r.Header.Values("X-Forwarded-Proto"); len(forwarded) == 1 && forwarded[0] == "https" &&
		tracing.ContainsAddress(l.Config.Server.TrustedProxies, peerOf(r)) {
		return "https"
	}
	return "http"
}

// peerOf returns the address that opened a request's connection.
func peerOf(r *http.Request) netip.Addr { return tracing.ClientOf(r.RemoteAddr, nil, nil).Address }

func foreignPage() *arm.Error {
	return arm.NewError(arm.Forbidden, "The admin listener answers neither web pages nor foreign host names.")
}
