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
// The client never follows redirects, never decompresses an answer that its caller
// streams, and never dials a URL out of an answer: a call names an endpoint of the
// region map and gives path and query.
package upstream
