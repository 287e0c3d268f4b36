package compare

import (
	"portico/test/evidence"
	"portico/test/harness"
)

// versions are those of the peers, and of what measures them.
func versions() []string {
	of := func(name, program, argument string) string {
		return evidence.VersionOf(name, harness.FindInstalled(program), argument)
	}
	return []string{
		of("nginx", "nginx", "-v"), of("HAProxy", "haproxy", "-v"), of("Caddy", "caddy", "version"),
		evidence.PostgresVersion(), of("wrk", "wrk", "-v"), of("h2load", "h2load", "--version"),
	}
}
