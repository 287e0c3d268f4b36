// Package upstream talks HTTP to the regional endpoints of resource providers.
//
// There are two ways to call. [Client.Do] makes exactly one attempt and hands
// the answer out as it comes: it carries the calls of clients, whose writes
// must never be sent twice. [Client.Read] is for Portico's own reads: it
// retries what is safe to retry, through hashicorp/go-retryablehttp and within
// a budget per endpoint, and holds the whole answer, bounded.
//
// Calls of either way have so many slots of an endpoint, of which one caller has at
// most a share; callers that wait are served in turn, and not for ever.
//
// Either goes to an address of the endpoint that the package health below regions
// holds to be fit, by what calls came to and by the probes of [Client.Run], and
// on to another one as long as nothing was sent.
//
// Redirects are never followed, compression is never undone behind the
// caller's back, and no URL out of an answer is ever dialled: a call names an
// endpoint of the region map and gives path and query.
package upstream
