// Package admin answers the admin listener: health, metrics and profiles, and what
// operators see and change: subscriptions, jobs, sweeps, doubts, fences, retired
// regions, the configuration.
//
// A file per resource holds its routes, its JSON and its handlers. The listener
// must be unreachable for web pages but its own console, so it refuses foreign hosts and
// origins on every path; all but health, metrics and the console's files asks for a token,
// or a session that was begun with one, and is audited.
package admin
