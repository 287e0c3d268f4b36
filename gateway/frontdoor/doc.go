// Package frontdoor answers for the resources that Portico keeps itself: those of no
// provider. A file per resource holds its routes, its JSON and its handlers; groups, roles
// and tags, which are larger, have packages of their own. A new resource is a file
// and a line in Options.resources.
//
// What is over at once is done in a transaction of the inventory. What takes its
// time is checked here, handed to a job of package operations, and polled.
//
// A list shows its caller what that may read, by the ids of its elements. What a
// subscription is and may use (its own members, locations, SKUs, providers and features
// with their registrations) may be read by everyone who may read something in it. The
// names of tags are counted over the whole subscription, so only callers that may read all
// of it may list them: a part of the sum would be wrong, the sum would reveal hidden ones.
package frontdoor
