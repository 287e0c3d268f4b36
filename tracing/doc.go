// Package tracing guards the identity of a request: the ids by which it is
// found again in every log, and the headers that only the front door may set.
//
// The rule is strip first, then stamp, and there is no other way in. [Identify]
// reads what a client may say about its own request, [Strip] removes every
// reserved header and every spelling that a provider could mistake for one, and
// [Identity.Stamp] writes the front door's own (addendum, Instrumentation and
// Tracing across services). Which of the rest pass to a provider is for package
// headers to say.
package tracing
