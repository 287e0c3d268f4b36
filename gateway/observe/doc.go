// Package observe says what became of requests: it writes the access log and the
// audit log, and counts and times requests in the metrics.
//
// An [Observer] does this once per request, after its answer, on the goroutine
// that made it. An [Audit] also takes the lines of others: those of the calls that
// Portico makes by itself, and those of the admin listener. No line says what a
// request or a resource held.
package observe
