// Package compare measures Portico beside nginx, HAProxy, Caddy and Go's ReverseProxy, and
// writes what it finds into README.md and docs/evidence.md:
//
//	make bench-peers                   # five rounds, some twelve minutes
//	make bench-peers PEERS_ROUNDS=2    # five minutes
//
// All of them run at the same time, on loopback, in front of one provider. In each round
// every proxy takes every load in turn, so that other work on the machine affects all of
// them; each round starts with another proxy. A ratio divides two figures of one round.
//
// Portico runs as in production: callers authenticate with tokens, every request writes
// a line of the log, which goes to a file, and metrics are on. The others only forward,
// and log nothing.
//
// Processor time is what the kernel accounts to a proxy's processes while the load runs.
// It excludes the load generator, the provider and the database server. These share the
// processors with the proxy, so requests per second understate the differences.
package compare
