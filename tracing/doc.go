// Package tracing guards the identity of a request: the ids by which all logs show it,
// and the headers that only the front door may set.
//
// The rule is strip first, then stamp; nothing else sets them. [Identify] reads what a
// client may say about its own request, [Strip] removes every reserved header and every
// spelling that a provider could mistake for one, and [Identity.Stamp] writes the front
// door's own (addendum, Instrumentation and Tracing across services). Package headers
// decides which other headers pass to a provider.
package tracing
