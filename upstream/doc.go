// Package upstream calls the regional endpoints of resource providers over HTTP.
//
// [Client.Do] makes exactly one attempt and streams the answer: it forwards the calls
// of clients, whose writes must never be sent twice. [Client.Read] is for Portico's
// own reads: it retries what is safe to retry, through hashicorp/go-retryablehttp and
// within a budget per endpoint, and buffers the whole answer, bounded.
//
// Both take one of a limited number of slots of the endpoint; one caller has
// at most a share. Waiting callers are served in turn, for a bounded time.
//
// Both choose an address by package health, which learns from calls and from the
// probes of [Client.Run], and move on to another one as long as nothing was sent.
//
// Package http1 makes most calls. Reads over TLS, which may use HTTP/2, and all calls
// of endpoints whose providers want it are made by net/http. Writes go over HTTP/1.1 in
// either case: only a connection that carries one request at a time shows whether a
// byte of it has left (package sendguard).
//
// The client never follows redirects, never decompresses an answer that its caller
// streams, and never dials a URL out of an answer: a call names an endpoint of the
// region map and gives path and query.
package upstream
