// Package wire tests a running gateway with every request that a careless or hostile
// client can send: malformed paths, names, versions, headers and queries, and with
// providers whose answers no client may see.
//
// The tests start real processes, the gateway and one reference provider for each
// region, and speak to them over bare TCP, because client libraries correct what they
// send. What reached a provider is read from the provider's own record, never inferred
// from the answer. If the reference provider's HTTP library would correct an answer, a
// scripted TCP listener takes its place.
//
// The package contains only tests.
package wire
