// Package load sends requests to a proxy and reports how many were answered and how long
// they took:
//
//   - [Closed] is a closed loop by wrk: a connection sends its next request after the
//     last answer. It shows a proxy's capacity; its latencies hold at that load only.
//   - [Secure] is the same over TLS with HTTP/2, by h2load.
//   - [Open] is an open loop: it sends at fixed times and measures each request from the
//     time when it was due. All requests that a stall delays count as slow, which
//     corrects for coordinated omission.
//
// wrk and h2load are separate processes. Open runs in the caller's process and sleeps
// between requests. Its own share is in every latency; the difference between a run
// through a proxy and one without excludes it.
package load
