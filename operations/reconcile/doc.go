// Package reconcile keeps the index true where an answer left it in doubt.
//
// A [Verifier] asks the provider, by GET, for a row that is flagged, until that
// settles it. An [OperationTracker] polls the operation of an accepted write; its end
// is never proof, but has the row verified. A [FenceWatcher] watches writes of
// unknown fate that a group was closed over, and deletes what lands late.
package reconcile
