// Package http1 serves HTTP/1.1 on connections that somebody else has accepted and
// secured: in place of the part of net/http's server for HTTP/1, at less cost for each
// request.
//
// A connection has one goroutine, which reads a head, calls the handler and writes the
// answer. Nothing reads beside the handler unless that takes long: then a second
// goroutine waits for the client to go away, so that the request's context ends. An
// answer that fits into the buffer goes out in one write. Deadlines are set on the
// socket when it may have to wait, and only when they move by more than a little. A
// connection that waits long for its next request gives up its buffers and its stack.
//
// It accepts no request that net/http's server would refuse, and reads each as that
// does. It refuses what two readers may understand in two ways: see the refusals. The
// connection ends with the answer to any request of HTTP/1.0, and to any with chunks.
//
// HTTP/2 is another server's, which gets the connections on which TLS agreed to it.
//
// Handlers find what they are used to, except that connections cannot be hijacked,
// that trailers are dropped, that nothing guesses a Content-Type, that interim answers
// other than 100 Continue are not sent, and that contexts do not name the server.
package http1
