// Package regions holds the region map: which regions and resource providers there are,
// which resource types each provider serves, and which endpoint serves a type in a
// region (addendum, Regional Endpoints).
//
// A [Map] is an immutable value. [New] resolves it once from plain declarations, so
// that a lookup for a request is a few map reads and never allocates; a change of
// configuration builds a new Map and swaps the pointer. Slices and URLs reached through
// a Map are shared and must not be changed.
//
// The health of an endpoint's addresses outlives a Map; package health keeps it.
//
// Nothing here reads files or reports faults: the caller has checked the declarations.
package regions
