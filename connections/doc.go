// Package connections bounds the connections of a listener: their number, their number
// per address, and how long one stays idle without an authenticated request.
//
// If all connections are in use, a new one evicts another: the newest of the address
// that has most, unauthenticated ones first. So an address that opens many evicts its
// own, not those of others. Trusted proxies carry the requests of many clients; they
// have no bound per address and are never evicted.
//
// A [Table] bounds one listener. [Table.Listen] or, for TLS, [Table.ListenTLS] wraps
// the listener of a server, [Table.ConnState] and [Table.ConnContext] are the server's
// hooks, and its handler calls [Authenticated].
//
// For an [http.Server] the package does two things more, unless [Options.Unscanned]
// says that the server, such as that of package http1, does them by itself. A connection
// that waits long for its next request is parked: net/http gives up its buffers and its
// goroutine. And request heads are scanned while net/http reads them, because it hides
// that a request has both a length and chunks. Handlers ask by [Ambiguous].
package connections
