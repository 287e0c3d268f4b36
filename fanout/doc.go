// Package fanout lists one collection that lies in several regions and merges
// what they answer (resource reference, Get Resource: "ARM will query each
// regional endpoint that has at least one resource for the subscription and
// aggregate the responses").
//
// A list is honest or it is not sent: to clients absence means deleted, so one
// region that fails makes the whole list fail, with a detail for each region
// that did. Elements leave as the bytes they came in. A provider's nextLink is
// never dialled: its host and path are checked, and only its query is replayed
// on the configured endpoint.
package fanout
