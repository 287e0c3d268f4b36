// Package spans records where the time of a request or of durable work went, as spans of
// OpenTelemetry.
//
// Whether a trace is sampled is decided before anything of it is made: a [Tracer] returns
// a nil *[Span] for what is not, and everything that a span can do is done by a nil one
// too, at no cost. So callers ask nowhere whether tracing is on.
//
// A span's name and attributes come from the lists of this package, and their values from
// the region map, from lists in the code, or from ids that the access log shows as well.
// No text of a client but the ID of a resource gets into a span, and nothing that says
// who somebody is.
package spans
