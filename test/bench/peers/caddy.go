package peers

import (
	"fmt"
	"testing"

	"portico/test/harness"
)

// StartCaddy runs Caddy with GOMAXPROCS as its workers, and with a home of its own.
func StartCaddy(t testing.TB, o Options) Peer {
	t.Helper()
	folder, listen, secure := t.TempDir(), harness.FreeAddress(t), harness.FreeAddress(t)
	file := write(t, folder, "Caddyfile", fmt.Sprintf(`{
	admin off
	auto_https off
	log {
		level ERROR
	}
}
(proxy) {
	bind 127.0.0.1
	%s
	reverse_proxy %s {
		transport http {
			compression off
			keepalive 1h
			keepalive_idle_conns 0
			keepalive_idle_conns_per_host 4096
		}
	}
}
http://%s {
	import proxy
}
%s
`, o.whenOwn("@own path %s*\n\theader @own Content-Type application/json\n\trespond @own `%s` 404", o.OwnPath, o.OwnAnswer),
		o.Provider, listen,
		o.whenSecure("https://%s {\n\ttls %s %s\n\timport proxy\n}", secure, o.Certificate.CertFile, o.Certificate.KeyFile)))
	return o.proxy(t, Caddy, folder, listen, secure, "/usr/bin/env",
		fmt.Sprintf("GOMAXPROCS=%d", o.Workers), "HOME="+folder, "XDG_DATA_HOME="+folder, "XDG_CONFIG_HOME="+folder,
		harness.Installed(t, "caddy"), "run", "--adapter", "caddyfile", "--config", file)
}
