// Package routing decides what a request is and who serves it.
//
// [Classify] reads method, path and query by position, against the region map,
// and touches nothing else. [Request.Check] holds the common arguments to the
// contract (resource reference, arguments) in a fixed order: subscription,
// group, namespace, type, names, api-version. [Router.Resolve] then reads the
// index and returns the endpoint to call, or the answer that needs no call, or the
// fault that the client gets, or what has to be searched for first: nothing here
// calls a provider.
//
// What serves a request follows from what it names:
//
//	an instance of a tracked type     the region in the index; when it is new, the body's location
//	a nested resource                 the region of its nearest tracked ancestor
//	an extension resource             the region of its host, or the global endpoint
//	/locations/{l}/…                  that region
//	a collection                      every region that holds a row of the type in that scope, or may hold what has none
//	a global type, a tenant's call    the global endpoint
//	an operation's status             the endpoint that was recorded when its URL was issued, whatever the path is
package routing
