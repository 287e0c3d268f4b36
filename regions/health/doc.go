// Package health decides which address of an endpoint receives a call. It only keeps
// state: callers report the results of probes and calls, and it sends nothing itself.
// Times are durations since an arbitrary fixed moment.
//
// An address is taken out of use for one of three reasons.
//
//   - Its circuit is open: several connections in a row could not be made. After a
//     while one call, or a probe, tries it; if that connects the circuit closes, else
//     the next trial comes later.
//   - Its probes fail, whether they connect or not.
//   - It was ejected: it answered with too many errors, or much slower than the other
//     addresses of its endpoint. Each ejection lasts longer than the one before, and
//     only a share of an endpoint's addresses is ejected at once.
//
// An address that returns gets a growing part of the calls at first. Among healthy
// addresses, the less busy of two random ones is chosen.
//
// The last two reasons fail open: an endpoint that has lost all its addresses to them
// is called as if they were healthy. Only if neither calls nor probes can connect to
// any address is nothing sent: [Down].
package health
