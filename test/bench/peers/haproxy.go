package peers

import (
	"fmt"
	"os"
	"testing"

	"portico/test/harness"
)

// StartHAProxy runs HAProxy with one thread for each worker.
func StartHAProxy(t testing.TB, o Options) Peer {
	t.Helper()
	folder, listen, secure := t.TempDir(), harness.FreeAddress(t), harness.FreeAddress(t)
	both := "" // it reads certificate and key from one file
	if o.Certificate.CertFile != "" {
		for _, part := range []string{o.Certificate.CertFile, o.Certificate.KeyFile} {
			text, err := os.ReadFile(part)
			if err != nil {
				t.Fatal(err)
			}
			both += string(text)
		}
	}
	file := write(t, folder, "haproxy.cfg", fmt.Sprintf(`global
  nbthread %d
  maxconn 8192
defaults
  mode http
  maxconn 8192
  timeout connect 5s
  timeout client 10m
  timeout server 1m
  http-reuse always
frontend all
  bind %s
  %s
  %s
  default_backend provider
backend provider
  server provider %s
`, o.Workers, listen,
		o.whenSecure("bind %s ssl crt %s alpn h2,http/1.1", secure, write(t, folder, "both.pem", both)),
		o.whenOwn("http-request return status 404 content-type application/json string '%s' if { path_beg %s }", o.OwnAnswer, o.OwnPath),
		o.Provider))
	return o.proxy(t, HAProxy, folder, listen, secure, harness.Installed(t, "haproxy"), "-db", "-f", file)
}
