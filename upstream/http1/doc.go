// Package http1 calls one address over HTTP/1.1, plain or over TLS, without a
// goroutine of its own for a connection: a call writes its request and reads its
// answer in the caller's goroutine.
//
// A call ends at its deadline or with its context, and so does the body of its answer: a
// read that has two seconds or more within a fiftieth of a second, all others at once.
// Its connection is used again once the answer has been read to its end, unless
// anything about the answer's end is ambiguous: bytes behind it, two lengths, a
// request of which a part has not left. Idle connections are looked at before they are
// used: one that was closed, or that brings bytes nobody asked for, is not used. A read
// looks, writes and waits in one operation on the socket, which takes three system calls.
//
// A request is repeated on another connection only if the one it was given had been
// used before, and died: a write (with a [sendguard.Guard]) only if no byte of it has
// left, a read only if nothing of an answer has come.
//
// What is no answer of HTTP/1.0 or HTTP/1.1 is an error. Where net/http's transport is
// lenient this package is not: it refuses folded header lines, space before a colon,
// lengths and chunks in other than their one form, and more headers or interim answers
// than anybody needs.
package http1
