package e2e

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"portico/test/harness"
)

// Connections that come in after a certificate was exchanged get the new one.
func TestCertificateIsExchanged(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{TLS: true, Server: watched}})
	p := w.Portico
	folder := filepath.Dir(p.ConfigFile)
	shown := func() []byte {
		t.Helper()
		c, err := tls.Dial("tcp", strings.TrimPrefix(p.URL, "https://"), &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12})
		harness.OK(t, err)
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0].Raw
	}
	before := shown()
	old, err := os.ReadFile(filepath.Join(folder, "server.key"))
	harness.OK(t, err)

	// The new certificate is there before its key.
	next := harness.NewCertificate(t, t.TempDir())
	copyFile(t, next.CertFile, filepath.Join(folder, "server.crt"))
	soon(t, "the pair that does not fit is seen", func() bool { return p.Metric(t, success) == 0 })
	if !bytes.Equal(shown(), before) {
		t.Error("the old certificate is not shown any more")
	}
	copyFile(t, next.KeyFile, filepath.Join(folder, "server.key"))
	soon(t, "the new certificate", func() bool { return !bytes.Equal(shown(), before) })
	c, err := tls.Dial("tcp", strings.TrimPrefix(p.URL, "https://"), &tls.Config{RootCAs: next.Pool, MinVersion: tls.VersionTLS12})
	harness.OK(t, err)
	_ = c.Close()
	if err := verify(shown(), next.Pool); err != nil {
		t.Error(err)
	}
	if strings.Contains(p.Log(), strings.Split(string(old), "\n")[1]) {
		t.Error("a key is in the log")
	}
}

// The authorities that providers have to come from are exchanged too, though no
// line of the configuration has changed.
func TestAuthoritiesAreExchanged(t *testing.T) {
	t.Parallel()
	provider := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":%q,"name":%q,"type":"Contoso.Compute/virtualMachines","location":"northeurope"}`, r.URL.Path, name)
	}))
	defer provider.Close()
	authorities := filepath.Join(t.TempDir(), "ca.pem")
	stranger := harness.NewCertificate(t, t.TempDir()) // no authority of the provider
	copyFile(t, stranger.CertFile, authorities)
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{
		Endpoints: map[string]string{"northeurope": provider.URL}, Server: watched,
		// Providers are notified of the subscription too: those calls fail as well,
		// and with an open circuit the answer would be 503 instead.
		Extra: fmt.Sprintf("upstream: {tls: {ca: %q}}\nhealth: {circuit: {failures: 0}}\n", authorities),
	}})
	w.PutGroup(t, "rg")
	p := w.Portico
	vm := harness.Request{Method: http.MethodPut, Path: w.ResourcePath("rg", machines+"vm") + "?api-version=" + harness.Version, Body: body("northeurope")}
	p.Do(t, vm).WantError(t, 502, "BadGatewayConnection")

	right := filepath.Join(t.TempDir(), "right.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: provider.Certificate().Raw})
	harness.OK(t, os.WriteFile(right, text, 0o600))
	copyFile(t, right, authorities)
	soon(t, "the new authority", func() bool { return p.Metric(t, generation) > 1 })
	p.Do(t, vm).Want(t, 200, 201)
	copyFile(t, stranger.CertFile, authorities)
	soon(t, "the old authority", func() bool { return p.Metric(t, generation) > 2 })
	p.Do(t, vm).WantError(t, 502, "BadGatewayConnection")
}

// A certificate that is not shown to providers any more does not go on ending.
func TestCertificateThatIsGivenUp(t *testing.T) {
	t.Parallel()
	pair := harness.NewCertificate(t, t.TempDir())
	config := harness.Config{Server: unwatched, Extra: fmt.Sprintf("upstream: {tls: {cert: %q, key: %q}}\n", pair.CertFile, pair.KeyFile)}
	w := harness.NewWorld(t, harness.WorldOptions{Config: config})
	const expiry, use = "portico_certificate_expiry_timestamp_seconds", `use="upstream"`
	if metric(t, w.Portico, expiry, use) <= 0 {
		t.Error("its end is not shown")
	}
	config = w.Config
	config.Extra = ""
	w.Portico.Write(t, w.Portico.Text(t, config))
	reload(t, w.Portico).Want(t, 200)
	if got := metric(t, w.Portico, expiry, use); got != -1 {
		t.Errorf("it is shown on: %v", got)
	}
}

func verify(der []byte, pool *x509.CertPool) error {
	c, err := x509.ParseCertificate(der)
	if err == nil {
		_, err = c.Verify(x509.VerifyOptions{Roots: pool})
	}
	return err
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = errors.Join(os.WriteFile(to+".new", text, 0o600), os.Rename(to+".new", to))
	}
	harness.OK(t, err)
}
