package peers

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"portico/test/harness"
)

// The names of the peers, as people write them.
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
	// SecureURL is where it speaks TLS with HTTP/2; "" where it does not.
	SecureURL string
	PID       int
}

// Options are what all proxies are told: they pass everything on and log nothing.
type Options struct {
	Provider string // host:port
	// Workers is how many processors it uses at a time: processes, threads or
	// GOMAXPROCS.
	Workers int
	// Certificate makes them speak TLS as well.
	Certificate harness.Certificate
	// OwnPath is what paths begin with that a proxy answers itself, by 404 with
	// OwnAnswer, JSON without a single quote or a backquote; "": it has none.
	OwnPath, OwnAnswer string
}

// Program finds a program in PATH or where Debian keeps those of administrators; ""
// where it is not installed.
func Program(name string) string {
	if found, err := exec.LookPath(name); err == nil {
		return found
	}
	found := "/usr/sbin/" + name
	if info, err := os.Stat(found); err == nil && info.Mode()&0o111 != 0 {
		return found
	}
	return ""
}

// program is [Program] for what has to be there.
func program(t testing.TB, name string) string {
	t.Helper()
	found := Program(name)
	if found == "" {
		t.Fatalf("%s is not installed: test/prepare.sh peers does it", name)
	}
	return found
}

// write puts a configuration into a folder.
func write(t testing.TB, folder, name, text string) string {
	t.Helper()
	file := filepath.Join(folder, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// awaitListening returns when somebody listens on an address.
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

// proxy runs an installed proxy and returns when it serves.
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

// whenSecure is text for a proxy that speaks TLS.
func (o Options) whenSecure(format string, args ...any) string {
	if o.Certificate.CertFile == "" {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

// whenOwn is text for a proxy that answers something itself.
func (o Options) whenOwn(format string, args ...any) string {
	if o.OwnPath == "" {
		return ""
	}
	return fmt.Sprintf(format, args...)
}
