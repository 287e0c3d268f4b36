package issuer

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"portico/internal/pemfile"
)

// Bounds of a fetch.
const (
	fetchTime = 5 * time.Second // for the discovery document and the keys together
	maxAnswer = 1 << 20         // bytes of either, once unpacked
	maxReason = 300             // of an issuer's text in an error
)

// fetcher fetches issuers' keys.
type fetcher struct{ client *http.Client }

// newFetcher returns a fetcher that trusts the authorities in a PEM file, "" for the
// system's.
func newFetcher(ca string) (*fetcher, error) {
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true,
		MaxIdleConns: 2, IdleConnTimeout: 30 * time.Second, TLSHandshakeTimeout: fetchTime, MaxResponseHeaderBytes: 64 << 10,
	}
	if ca != "" {
		roots, err := pemfile.Pool(ca)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", ca, err)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	return &fetcher{&http.Client{
		Transport: boundedAnswers{transport},
		// A redirect leads to another address than the one that was configured.
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("it redirects, and redirects are not followed")
		},
	}}, nil
}

// fetch reads the issuer's discovery document, and the keys at the address in it.
func (f *fetcher) fetch(ctx context.Context, issuer string) (*keySet, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	set, err := f.keys(ctx, issuer)
	if err != nil {
		return nil, errors.New(cutReason(err.Error()))
	}
	return set, nil
}

func (f *fetcher) keys(ctx context.Context, issuer string) (*keySet, error) {
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, f.client), issuer)
	if err != nil {
		return nil, fmt.Errorf("discover the issuer: %w", err)
	}
	var document struct {
		Keys string `json:"jwks_uri"`
	}
	if err := provider.Claims(&document); err != nil {
		return nil, err
	}
	if !mayFetch(issuer, document.Keys) {
		return nil, errors.New("the discovery document has no address for keys that is as secure as the issuer's own")
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, document.Keys, nil)
	if err != nil {
		return nil, err
	}
	answer, err := f.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("fetch the keys of the issuer: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("keys: status %d", answer.StatusCode)
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, fmt.Errorf("read the keys of the issuer: %w", err)
	}
	return parseKeys(text, time.Now())
}

// mayFetch reports whether an issuer's keys may be fetched from an address: by https
// from anywhere, by http only from this machine, and only if the issuer is there too.
func mayFetch(issuer, keys string) bool {
	u, err := url.Parse(keys)
	if err != nil || u.User != nil || u.Host == "" {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && strings.HasPrefix(issuer, "http://") && loopback(u)
}

// loopback reports whether a URL's host is this machine.
func loopback(u *url.URL) bool {
	host := u.Hostname()
	address, err := netip.ParseAddr(host)
	return err == nil && address.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}

func cutReason(text string) string {
	if len(text) > maxReason {
		return strings.ToValidUTF8(text[:maxReason], "") + "…"
	}
	return text
}

// boundedAnswers fails the reading of an answer that is too large.
type boundedAnswers struct{ next http.RoundTripper }

func (b boundedAnswers) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.next.RoundTrip(r)
	if err == nil {
		answer.Body = &boundedBody{answer.Body, maxAnswer}
	}
	return answer, err
}

// CloseIdleConnections forwards [http.Client.CloseIdleConnections].
func (b boundedAnswers) CloseIdleConnections() {
	if t, ok := b.next.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

type boundedBody struct {
	io.ReadCloser
	left int
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errors.New("the answer is too large")
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
