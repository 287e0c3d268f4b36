package peers

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"portico/test/harness"
)

// The names of the peers.
const (
	Nginx        = "nginx"
	HAProxy      = "HAProxy"
	Caddy        = "Caddy"
	ReverseProxy = "ReverseProxy"
)

// Peer is a running process.
type Peer struct {
	Name string
	URL  string // without a final slash
	// SecureURL is its address for TLS with HTTP/2; "" if it has none.
	SecureURL string
	PID       int
}

// Options configure a proxy. It forwards everything and logs nothing.
type Options struct {
	Provider string // host:port
	// Workers is its number of processes or threads, or its GOMAXPROCS.
	Workers int
	// Certificate makes it speak TLS as well.
	Certificate harness.Certificate
	// OwnPath is the prefix of paths that the proxy answers itself, with 404 and
	// OwnAnswer, which is JSON without single quotes and backquotes; "": there are none.
	OwnPath, OwnAnswer string
}

// write writes a configuration file.
func write(t testing.TB, folder, name, text string) string {
	t.Helper()
	file := filepath.Join(folder, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// awaitListening waits until the process accepts connections.
func awaitListening(t testing.TB, name string, p *harness.Process, address string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if c, err := new(net.Dialer).DialContext(t.Context(), "tcp", address); err == nil {
			_ = c.Close()
			return
		}
		if p.Ended() || time.Now().After(end) {
			t.Fatalf("%s does not serve: %s", name, p.Stderr())
		}
	}
}

// proxy runs an installed proxy and waits until it serves.
func (o Options) proxy(t testing.TB, name, folder, listen, secure string, command ...string) Peer {
	t.Helper()
	p := harness.Start(t, name, folder, command[0], command[1:]...)
	awaitListening(t, name, p, listen)
	peer := Peer{Name: name, URL: "http://" + listen, PID: p.Pid()}
	if o.Certificate.CertFile != "" {
		awaitListening(t, name, p, secure)
		peer.SecureURL = "https://" + secure
	}
	return peer
}

// whenSecure returns configuration text if the proxy speaks TLS.
func (o Options) whenSecure(format string, args ...any) string {
	if o.Certificate.CertFile == "" {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

// whenOwn returns configuration text if the proxy has answers of its own.
func (o Options) whenOwn(format string, args ...any) string {
	if o.OwnPath == "" {
		return ""
	}
	return fmt.Sprintf(format, args...)
}
