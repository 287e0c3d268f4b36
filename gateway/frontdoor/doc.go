// Package frontdoor answers for the resources that Portico keeps itself: those of no
// provider. A file per resource holds its routes, its JSON and its handlers; groups, roles
// and tags, which are larger, have packages of their own. A new resource is a file
// and a line in Options.resources.
//
// What is over at once is done in a transaction of the inventory. What takes its
// time is checked here, handed to a job of package operations, and polled.
package frontdoor
