// Package wire holds a running gateway to what it must do with every request
// that a careless or hostile client can put on a socket: malformed paths,
// names, versions, headers and queries, and providers that answer with what no
// client may see.
//
// The tests start real processes, the gateway and one reference provider for
// each region, and speak to them over bare TCP, because every client library
// cleans what it sends. What reached a provider is read from the provider's own
// record, never inferred from the answer. Where the reference provider's HTTP
// library would clean an answer, a scripted TCP listener stands in for it.
//
// There is no code here beside the tests.
package wire
