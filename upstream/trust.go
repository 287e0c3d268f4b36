package upstream

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
)

// UntrustedCode is the code of a provider's 403 for an untrusted or missing
// client certificate.
const UntrustedCode = "UntrustedClientCertificate"

// ErrUntrusted is wrapped by the error of a call that the provider refused,
// without any effect, because it does not trust Portico's certificate.
var ErrUntrusted = errors.New("the provider does not trust Portico's certificate")

// ErrCredential is wrapped by the error of a call that the provider answered with 401: it
// does not accept Portico's credential.
var ErrCredential = errors.New("the provider does not accept Portico's credential")

// maxRefusal bounds the error body of such a refusal.
const maxRefusal = 64 << 10

// refusal returns ErrUntrusted or ErrCredential if the answer is such a refusal, and
// then closes it. The body of any other answer can be read as before.
func (i *Identity) refusal(answer *http.Response) error {
	switch answer.StatusCode {
	case http.StatusUnauthorized:
		if i == nil || i.Header == "" {
			return nil
		}
		_ = answer.Body.Close()
		return ErrCredential
	case http.StatusForbidden:
		return refusedByAnswer(answer)
	}
	return nil
}

func refusedByAnswer(answer *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxRefusal))
	var said struct {
		Error struct {
			Code string `json:"code"`
		} `json:"error"`
	}
	if err == nil {
		plain, broken := ReadAll(answer.Header, bytes.NewReader(text), maxRefusal)
		if broken == nil && json.Unmarshal(plain, &said) == nil && said.Error.Code == UntrustedCode {
			_ = answer.Body.Close()
			return ErrUntrusted
		}
	}
	answer.Body = &replayed{io.MultiReader(bytes.NewReader(text), answer.Body), answer.Body}
	return nil
}

// replayed is a body that returns bytes read before, followed by the rest.
type replayed struct {
	io.Reader
	io.Closer
}

// certificateAlerts lists a peer's TLS alerts that refuse a certificate.
var certificateAlerts = []tls.AlertError{41, 42, 43, 44, 45, 46, 48, 49, 116}

// refusedByAlert reports whether the provider ended a connection because it does not
// trust Portico's certificate. Package tls has no type for alerts received over TCP.
func refusedByAlert(err error) bool {
	var op *net.OpError
	if !errors.As(err, &op) || op.Op != "remote error" || op.Err == nil {
		return false
	}
	return slices.ContainsFunc(certificateAlerts, func(a tls.AlertError) bool { return a.Error() == op.Err.Error() })
}

// trustKind returns the [ErrorKind] of a TLS error; "" for others.
func trustKind(err error) string {
	var (
		verification *tls.CertificateVerificationError
		authority    x509.UnknownAuthorityError
		host         x509.HostnameError
		invalid      x509.CertificateInvalidError
		record       tls.RecordHeaderError
		op           *net.OpError
	)
	switch {
	case errors.Is(err, ErrUntrusted), errors.Is(err, ErrCredential), refusedByAlert(err):
		return "untrusted"
	case errors.As(err, &authority):
		return "tls_authority"
	case errors.As(err, &host):
		return "tls_host"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "tls_expired"
	case errors.As(err, &verification), errors.As(err, &record), errors.As(err, &op) && (op.Op == "remote error" || op.Op == "local error"):
		return "tls"
	}
	return ""
}

// faultsApart is the minimum time between two log lines about one address.
const faultsApart = time.Minute

// trustFaults records the failures of an address for lack of trust.
type trustFaults struct {
	mu    sync.Mutex
	count int // not logged yet
	last  time.Time
	kind  string
	seen  time.Time // the latest one
}

// latest returns when a call last failed for lack of trust, and its [ErrorKind].
func (f *trustFaults) latest() (kind string, seen time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.kind, f.seen
}

// logTrust logs that Portico or the provider does not trust the other's
// certificate: immediately if that is new, then at intervals.
func (c *Client) logTrust(p *pool, by *Identity, call *Call, err error, now time.Time) {
	kind := trustKind(err)
	if kind == "" {
		return
	}
	f := &p.trust
	f.mu.Lock()
	f.count++
	f.seen = now
	if kind == f.kind && now.Sub(f.last) < faultsApart {
		f.mu.Unlock()
		return
	}
	count := f.count
	f.count, f.last, f.kind = 0, now, kind
	f.mu.Unlock()
	fields := []zap.Field{
		zap.Strings("providers", call.Endpoint.Providers), zap.String("region", call.Endpoint.Region), zap.String("endpoint", p.series.address),
		zap.String("reason", kind), zap.Int("count", count), zap.Error(err),
	}
	if leaf := by.leaf(); leaf != nil {
		sum := sha256.Sum256(leaf.Raw)
		fields = append(fields, zap.String("certificate", hex.EncodeToString(sum[:])), zap.Time("expires", leaf.NotAfter))
	}
	what := "a provider's certificate cannot be trusted"
	switch {
	case errors.Is(err, ErrCredential):
		what = "a provider does not accept the credential of this gateway"
	case kind == "untrusted":
		what = "a provider does not trust the certificate of this gateway"
	}
	c.log.Error(what, fields...)
}
