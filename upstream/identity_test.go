package upstream

import (
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"portico/test/harness"
)

// trusting are the identities of a client that trusts these servers, without a
// certificate of its own.
func trusting(servers ...*httptest.Server) Identities {
	trusted := x509.NewCertPool()
	for _, s := range servers {
		if s.Certificate() != nil {
			trusted.AddCert(s.Certificate())
		}
	}
	return Identities{"": {Authorities: trusted}}
}

// demanding is a provider that demands a client certificate of an authority in the
// handshake, or refuses it by its answer.
func demanding(t *testing.T, clients *harness.Authority, inHandshake bool) (*httptest.Server, *shownNames) {
	t.Helper()
	seen := &shownNames{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !inHandshake {
			for _, c := range r.TLS.PeerCertificates {
				if _, err := c.Verify(x509.VerifyOptions{Roots: clients.Pool, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err == nil {
					seen.add(r, c.Subject.CommonName)
					return
				}
			}
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprintf(w, `{"error":{"code":%q,"message":"no"}}`, UntrustedCode)
			return
		}
		seen.add(r, r.TLS.PeerCertificates[0].Subject.CommonName)
	}))
	server.EnableHTTP2 = true
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12}
	if inHandshake {
		server.TLS.ClientAuth, server.TLS.ClientCAs = tls.RequireAndVerifyClientCert, clients.Pool
	}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server, seen
}

// shownNames are the names in the certificates that a provider was shown, with the
// connections that they were shown on.
type shownNames struct {
	mu    sync.Mutex
	names []string
	conns map[string]map[string]bool // by name
}

func (s *shownNames) add(r *http.Request, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names = append(s.names, name)
	if s.conns == nil {
		s.conns = map[string]map[string]bool{}
	}
	if s.conns[name] == nil {
		s.conns[name] = map[string]bool{}
	}
	s.conns[name][r.RemoteAddr] = true
}

func (s *shownNames) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.names...)
}

func showing(server *httptest.Server, pair harness.Pair) *Identity {
	i := trusting(server)[""]
	return &Identity{Authorities: i.Authorities, Certificate: &pair.Certificate}
}

// Whoever makes a call, and whatever it is, the provider is shown the certificate, or
// refuses the call: then a write has changed nothing.
func TestProvidersDemandACertificate(t *testing.T) {
	clients, strangers := harness.NewAuthority(t), harness.NewAuthority(t)
	for _, inHandshake := range []bool{false, true} {
		for _, method := range []string{http.MethodGet, http.MethodPut} {
			t.Run(fmt.Sprintf("in handshake %v, %s", inHandshake, method), func(t *testing.T) {
				server, seen := demanding(t, clients, inHandshake)
				endpoint := endpointOf(at(t, server))
				endpoint.Providers = []string{"Contoso.Compute"}
				call := Call{Endpoint: endpoint, Method: method, Path: "/", Content: []byte(strings.Repeat("x", 100))}
				if method == http.MethodGet {
					call.Content = nil
				}
				trusted, stranger, ended := clients.Issue(t, harness.Leaf{Name: "portico"}), strangers.Issue(t, harness.Leaf{Name: "portico"}), clients.Issue(t, harness.Leaf{Name: "portico", Ended: true})
				c := newClient(t, Options{Identities: Identities{"": showing(server, trusted)}})
				mustDo(t, c, call)
				if got := seen.all(); len(got) != 1 || got[0] != "portico" {
					t.Errorf("the provider was shown %q", got)
				}
				for name, refused := range map[string]*Identity{"none": trusting(server)[""], "a stranger's": showing(server, stranger), "one that has ended": showing(server, ended)} {
					core, lines := observer.New(zap.ErrorLevel)
					c := newClient(t, Options{Identities: Identities{"": refused}, Metrics: prometheus.NewRegistry(), Log: zap.New(core)})
					_, _, err := do(c, call)
					for n := 0; inHandshake && ErrorKind(err) != "untrusted" && n < 100; n++ {
						_, _, err = do(c, call) // the connection's end may come before the alert
					}
					fault := faultOf(t, err)
					if ErrorKind(err) != "untrusted" || method != http.MethodGet && fault.Sent {
						t.Errorf("%s: %+v", name, fault)
					}
					if refusals := testutil.ToFloat64(c.metrics.errors.WithLabelValues(endpoint.Region, server.Listener.Addr().String(), "untrusted")); refusals < 1 {
						t.Errorf("%s: %v are counted", name, refusals)
					}
					if lines.Len() != 1 {
						t.Fatalf("%s: %d lines", name, lines.Len())
					}
					fields := lines.All()[0].ContextMap()
					if fmt.Sprint(fields["providers"]) != "[Contoso.Compute]" || fields["region"] != endpoint.Region || fields["reason"] != "untrusted" {
						t.Errorf("%s: %v", name, fields)
					}
					if want := refused.leaf(); want != nil && (fields["certificate"] != harness.Pair{Certificate: *refused.Certificate}.Fingerprint() || fields["expires"] != want.NotAfter) {
						t.Errorf("%s: %v", name, fields)
					}
				}
			})
		}
	}
}

// A 403 with any other code is the provider's answer to the caller, unchanged.
func TestOther403PassesUnchanged(t *testing.T) {
	long := `{"error":{"code":"` + UntrustedCode + `","message":"` + strings.Repeat("x", maxRefusal) + `"}}`
	for name, text := range map[string]string{
		"another code": `{"error":{"code":"RequestDisallowedByPolicy","message":"no"}}`, "no error": "<html>" + UntrustedCode + "</html>", "nothing": "", "too long": long,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, text)
		}))
		t.Cleanup(server.Close)
		for _, method := range []string{http.MethodGet, http.MethodPut} {
			status, body, err := do(newClient(t, Options{MaxAnswer: 1 << 20}), Call{Endpoint: endpointOf(at(t, server)), Method: method, Path: "/"})
			if err != nil || status != http.StatusForbidden || body != text {
				t.Errorf("%s: %d, %d bytes, %v", name, status, len(body), err)
			}
		}
	}
}

// What a client has asked to be compressed is understood all the same.
func TestCompressedRefusal(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	fmt.Fprintf(z, `{"error":{"code":%q}}`, UntrustedCode)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write(packed.Bytes())
	}))
	defer server.Close()
	_, _, err := do(newClient(t, Options{}), Call{Endpoint: endpointOf(at(t, server)), Method: http.MethodGet, Path: "/"})
	if !errors.Is(err, ErrUntrusted) {
		t.Error(err)
	}
}

// Two providers on one address have connections of their own: none carries a call of
// the other's identity.
func TestIdentitiesShareNoConnection(t *testing.T) {
	clients := harness.NewAuthority(t)
	server, seen := demanding(t, clients, true)
	identities := Identities{"Contoso.A": showing(server, clients.Issue(t, harness.Leaf{Name: "a"})), "Contoso.B": showing(server, clients.Issue(t, harness.Leaf{Name: "b"}))}
	c := newClient(t, Options{Identities: identities, Metrics: prometheus.NewRegistry()})
	for range 3 {
		for name := range identities {
			endpoint := endpointOf(at(t, server))
			endpoint.Identity = name
			for _, method := range []string{http.MethodGet, http.MethodPut} {
				before := len(seen.all())
				mustDo(t, c, Call{Endpoint: endpoint, Method: method, Path: "/"})
				if got := seen.all()[before]; "Contoso."+strings.ToUpper(got) != name {
					t.Errorf("a call of %s showed %s", name, got)
				}
			}
		}
	}
	for conn := range seen.conns["a"] {
		if seen.conns["b"][conn] {
			t.Errorf("connection %s was used for both", conn)
		}
	}
}

// A new certificate is shown from the next call on, and connections of an identity that
// has not changed are kept.
func TestCertificateIsRotated(t *testing.T) {
	clients := harness.NewAuthority(t)
	server, seen := demanding(t, clients, true)
	stays := showing(server, clients.Issue(t, harness.Leaf{Name: "stays"}))
	c := newClient(t, Options{Identities: Identities{"Contoso.A": showing(server, clients.Issue(t, harness.Leaf{Name: "old"})), "Contoso.B": stays}, Metrics: prometheus.NewRegistry()})
	call := func(identity, want string) {
		t.Helper()
		for _, method := range []string{http.MethodGet, http.MethodPut} {
			endpoint := endpointOf(at(t, server))
			endpoint.Identity = identity
			before := len(seen.all())
			mustDo(t, c, Call{Endpoint: endpoint, Method: method, Path: "/"})
			if got := seen.all()[before]; got != want {
				t.Errorf("%s showed %s, want %s", identity, got, want)
			}
		}
	}
	call("Contoso.A", "old")
	call("Contoso.B", "stays")
	c.UseIdentities(Identities{"Contoso.A": showing(server, clients.Issue(t, harness.Leaf{Name: "new"})), "Contoso.B": stays})
	call("Contoso.A", "new")
	call("Contoso.B", "stays")
	within(t, "the end of connections with the old certificate", func() bool {
		return testutil.ToFloat64(c.metrics.open.WithLabelValues("westus", server.Listener.Addr().String()+" (Contoso.A)")) == 2
	})
	if n := len(seen.conns["stays"]); n != 2 { // one for reads, one for writes
		t.Errorf("an identity that stays has had %d connections", n)
	}
}

// Why a provider's own certificate is not trusted shows in its kind.
func TestKindsOfDistrust(t *testing.T) {
	authority, stranger := harness.NewAuthority(t), harness.NewAuthority(t)
	for want, leaf := range map[string]harness.Pair{
		"tls_authority": stranger.Issue(t, harness.Leaf{Name: "localhost", Server: true}),
		"tls_host":      authority.Issue(t, harness.Leaf{Name: "provider.example", Server: true, Remote: true}),
		"tls_expired":   authority.Issue(t, harness.Leaf{Name: "localhost", Server: true, Ended: true}),
	} {
		server := httptest.NewUnstartedServer(http.NotFoundHandler())
		server.Config.ErrorLog = log.New(io.Discard, "", 0)
		server.TLS = &tls.Config{Certificates: []tls.Certificate{leaf.Certificate}, MinVersion: tls.VersionTLS12}
		server.StartTLS()
		t.Cleanup(server.Close)
		for _, method := range []string{http.MethodGet, http.MethodPut} {
			core, lines := observer.New(zap.ErrorLevel)
			c := newClient(t, Options{Identities: Identities{"": {Authorities: authority.Pool}}, Log: zap.New(core)})
			endpoint := endpointOf(at(t, server))
			_, _, err := do(c, Call{Endpoint: endpoint, Method: method, Path: "/"})
			if got := ErrorKind(err); got != want || lines.Len() != 1 {
				t.Errorf("%s: %s, want %s; %d lines", method, got, want, lines.Len())
			}
		}
	}
}
