// Package compare measures Portico beside nginx, HAProxy, Caddy and Go's ReverseProxy, and
// writes what it finds into docs/performance.md:
//
//	make bench-peers                   # five rounds, some eight minutes
//	make bench-peers PEERS_ROUNDS=2    # some three minutes
//
// All of them run at the same time, on loopback, before one provider. In each round each
// takes its turn at each load, so that what else the machine does hits all alike, and the
// first of the turns goes round. A ratio is one of two figures of the same round.
//
// Portico runs as in production: callers sign in by tokens, every request has a line in
// the log, which goes to a file, and metrics are counted. The others pass requests on and
// log nothing.
//
// Processor time is what the kernel has accounted to a proxy's processes while the load
// ran; load, provider and, for Portico over PostgreSQL, the database's server are not in
// it. They share the processors with the proxy all the same, so that requests per second
// show less of a difference than there is.
package compare
