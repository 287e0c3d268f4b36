// Package health decides which address of an endpoint is fit to be called. It
// is state alone: it is told what came of probes and calls, and when, and sends
// nothing by itself. Times are given as what has passed since any fixed moment.
//
// There are three reasons for which an address is left out.
//
//   - Its circuit is open: connections to it could not be made, several in a
//     row. After a while one call, or a probe, tries it; when that connects the
//     circuit closes, else the next trial is further off.
//   - Its probes fail, whether they connect or not.
//   - It was ejected: among the addresses of an endpoint it answered with more
//     errors than is right, or much slower than the others. Each time it is
//     ejected for longer, and never more than a share of an endpoint's
//     addresses are at once.
//
// An address that returns gets a growing part of the calls at first. Among those
// that are fit, the less busy of two random ones is taken.
//
// The last two reasons fail open: an endpoint whose addresses are all left out
// by them is called as if there were none. Only where nothing connects, by what
// calls and probes both say, is there nobody to call: [Down].
package health
