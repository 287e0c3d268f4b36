// Package regions holds the region map: which regions there are, which
// resource providers stand behind the gateway, which resource types each of
// them serves, and which endpoint serves a type in a region (addendum,
// Regional Endpoints).
//
// A [Map] is an immutable value. [New] resolves it once from plain
// declarations, so that a lookup on a request's way is a few map reads and
// never allocates; a change of configuration builds a new Map and swaps the
// pointer. Slices and URLs reached through a Map are shared and must not be
// changed.
//
// How the addresses of an endpoint fare is the affair of the package health below
// this one, and outlives a Map.
//
// Nothing here reads files or reports faults: whoever makes the declarations
// has checked them.
package regions
