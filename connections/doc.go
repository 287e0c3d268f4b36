// Package connections bounds the connections of a listener: their number, their number
// per address, and how long one stays idle without an authenticated request.
//
// If all connections are in use, a new one evicts another: the newest of the address
// that has most, unauthenticated ones first. So an address that opens many evicts its
// own, not those of others. Trusted proxies carry the requests of many clients; they
// have no bound per address and are never evicted.
//
// A [Table] bounds one listener. [Table.Listen] or, for TLS, [Table.ListenTLS] wraps
// the listener of an [http.Server], [Table.ConnState] and [Table.ConnContext] are the
// server's hooks, and its handler calls [Authenticated].
//
// A connection that waits long for its next request is parked: net/http gives up its
// buffers and its goroutine.
//
// The package scans request heads while net/http reads them, because net/http hides
// that a request has both a length and chunks. Handlers ask by [Ambiguous].
package connections
