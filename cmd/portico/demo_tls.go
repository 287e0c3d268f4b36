package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.uber.org/zap"
)

// demoCertificate and demoKey are files in the demo's folder.
const demoCertificate, demoKey = "tls.pem", "tls.key"

// writeCertificate writes a new certificate for loopback, which is its own authority, and
// its key into the folder. Each start makes another.
func writeCertificate(folder string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	made := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "portico demo"},
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(0, 3, 0),
		IsCA: true, BasicConstraintsValid: true, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	certificate, err := x509.CreateCertificate(rand.Reader, made, made, key.Public(), key)
	if err != nil {
		return err
	}
	private, _ := x509.MarshalPKCS8PrivateKey(key) // one that was just made
	return errors.Join(
		os.WriteFile(filepath.Join(folder, demoCertificate), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}), 0o600),
		os.WriteFile(filepath.Join(folder, demoKey), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600),
	)
}

// serveSignIn serves the sign-in until ctx ends.
func (d *demo) serveSignIn(ctx context.Context) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", d.signIn)
	if err := errors.Join(err, writeCertificate(d.data)); err != nil {
		return err
	}
	server := &http.Server{Handler: http.HandlerFunc(demoSignIn), ReadHeaderTimeout: headerTime, ErrorLog: zap.NewStdLog(d.log)}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() { _ = server.ServeTLS(l, filepath.Join(d.data, demoCertificate), filepath.Join(d.data, demoKey)) }()
	return nil
}

// demoSignIn answers what az and Terraform ask at `/adfs` and `/TENANT`: where to get a
// token, and for one. The demo lets everyone in without, but these clients send nothing
// before they have one, in the form of a JWT that names its subject. Nobody has signed it.
func demoSignIn(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, 1<<20)) // over HTTP/2 a request that is not read is reset, which curl takes for a failure
	encode := base64.RawURLEncoding.EncodeToString
	claims := `{"tid":"` + demoTenant + `","oid":"00000000-0000-0000-0000-00000000a110"}`
	base := "https://" + r.Host + strings.TrimSuffix(r.URL.Path, "/.well-known/openid-configuration")
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{ // the client may have gone
		"issuer": base, "authorization_endpoint": base + "/oauth2/v2.0/authorize", "token_endpoint": base + "/oauth2/v2.0/token",
		"token_type": "Bearer", "expires_in": 24 * 60 * 60,
		"access_token": encode([]byte(`{"typ":"JWT","alg":"none"}`)) + "." + encode([]byte(claims)) + ".",
	})
}
