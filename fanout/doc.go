// Package fanout lists one collection that lies in several regions and merges
// what they answer (resource reference, Get Resource: "ARM will query each
// regional endpoint that has at least one resource for the subscription and
// aggregate the responses").
//
// A [Lister] makes one merged page per request. It asks all regions at once that
// still hold something (or, where a page has a size, one after the other), holds
// a page of each whole, and lets nothing out before all have answered; so every
// failure is a proper error. Elements leave as the bytes they came in. To
// clients absence means deleted: one region that fails, also when it is asked
// once more at the end, fails the list, unless its caller would rather have what
// there is and be told what it lacks.
//
// Between two pages the list is a walk: per region, whether it is yet to be
// begun, at which query of its provider's it goes on, or that it was given up.
// The walk is sealed into the skip token, for this list alone, and nowhere else:
// any replica with the same keys goes on with it.
//
// What is held is taken from a budget, per list and for all lists. A region
// whose page does not fit stays where it was for the next page, as does one
// whose query would make the token too long.
//
// A provider's nextLink is never dialled: its host and path are checked, and
// only its query is replayed on the configured endpoint. Pages that lead round
// in a circle, or nowhere, are found out and fail their region.
package fanout
