// Package routing decides what a request is and who serves it.
//
// [Classify] reads method, path and query by position, against the region map,
// and touches nothing else. [Request.Check] checks the common arguments (resource
// reference, arguments) in a fixed order: subscription, group, namespace, type,
// names, api-version. [Router.Resolve] then reads the index. It returns the endpoint
// to call, an answer that needs no call, the fault for the client, or what has to be
// searched for first: this package never calls a provider.
//
// What serves a request follows from what it names:
//
//	an instance of a tracked type     the region in the index; for a new one, the body's location
//	a nested resource                 the region of its nearest tracked ancestor
//	an extension resource             the region of its host, or the global endpoint
//	/locations/{l}/…                  that region
//	a collection                      every region with a row of the type in that scope, or without coverage
//	a global type, a tenant's call    the global endpoint
//	an operation's status             the endpoint recorded with its URL, whatever the path says
package routing
