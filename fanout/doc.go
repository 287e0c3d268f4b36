// Package fanout lists one collection that is spread over several regions and
// merges the regions' answers (resource reference, Get Resource: "ARM will query each
// regional endpoint that has at least one resource for the subscription and
// aggregate the responses").
//
// A [Lister] builds one merged page per request. It calls all unfinished regions
// concurrently (or sequentially, if the client asked for a page size), buffers one
// page of each, and writes nothing before all have answered, so every failure
// becomes a proper error. Elements are passed on byte for byte. Clients read absence
// as deletion: if a region still fails after one retry the whole list fails, unless
// the caller prefers a partial list that names the missing regions.
//
// A cursor holds the state between two pages: whether each region is not yet
// started, continues with a query of its provider, or was given up. It is sealed into
// the skip token, bound to this list, and stored nowhere else: any replica with the
// same keys can continue the list.
//
// Buffered pages are charged to a memory budget, per list and for all lists. A
// region keeps its position for a later page if its page does not fit the memory or
// its query does not fit the token.
//
// Portico never dials a provider's nextLink: it checks host and path, and replays
// only the query on the configured endpoint. Circular or endless pages are detected
// and fail their region.
package fanout
