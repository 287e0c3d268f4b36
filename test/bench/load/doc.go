// Package load sends requests to a proxy and tells how many were answered, and how long
// each took:
//
//   - [Closed] has wrk send the next request of a connection when the last is answered:
//     it shows how many requests a proxy can answer. What it tells of times holds at
//     that load alone.
//   - [Secure] does the same over TLS with HTTP/2, by h2load.
//   - [Open] sends at times that are fixed beforehand, whatever becomes of the answers,
//     and counts each request's time from when it was to be sent. A proxy that stalls
//     pays for all requests that this delays: coordinated omission is corrected.
//
// wrk and h2load are processes of their own. Open runs in the process of its caller,
// where it sleeps between two requests; what it takes itself is in all figures, those
// of a run without a proxy as well, so that a difference of two runs is the proxy's.
package load
