// Package contoso is a reference resource provider: one regional endpoint of
// the namespaces Contoso.Compute and Contoso.Insight, which keeps the
// contract that resource providers owe the front door, so that demonstrations
// and tests have a backend whose every answer can be foretold. It knows
// nothing of the gateway's own packages: a provider that shared their parser
// would share their faults.
//
// A request is parsed by position into an address, met with the catalogue of
// resource types, and answered under one lock inside a transaction: the
// transaction's change is written to the journal (when there is a state file)
// before it becomes visible, so what was acknowledged survives a kill.
// Asynchronous operations have a due time and no timer: whoever looks next
// settles what has fallen due, in the order in which it fell due.
//
// Clients steer it by request headers. They choose how a write is carried out:
//
//	x-contoso-async           state, azure-async, accepted, accepted-async for PUT;
//	                          location, azure-async, azure-async-only, no-url for
//	                          PATCH, DELETE and POST; absent: synchronous
//	x-contoso-duration        how long the operation takes, a Go duration (200ms)
//	x-contoso-outcome         Failed or Canceled: it ends so, its update reverted
//	x-contoso-retry-after     the Retry-After to send, as it is (none)
//	x-contoso-operation-path  where the polling URL lies: locations, provider, resource
//	x-contoso-page-size       resources on a page
//	x-contoso-fault           one misbehaviour; see below
//
// The misbehaviours refuse the request without applying it:
//
//	status=N           answer N with an error body
//	throttle=N         429 with Retry-After: N
//	reset-before       reset the connection
//	html               200 with a page of HTML
//	redirect           307 to the same path on its own host
//	refuse-until=ID    409 while it holds the resource ID, then as asked
//	blocked-by=ID      the same, without a word of the resource
//	not-found=CODE     404 with an error code that tells of something else, such as
//	                   SubscriptionNotFound; not-found=page: with an ingress's page of HTML
//	hidden-from-clients  404 ResourceNotFound to a call with a client's identity
//	                   (x-ms-client-object-id), as asked to any other
//	cut-request        reset the connection when half of the content has come
//
// or apply it and spoil the answer:
//
//	async=M            carry it out in the mode M of x-contoso-async; async=M,S also with
//	                   Retry-After: S, as async-fails=M,S
//	async-fails=M      the same, and the operation fails
//	halfway            a move breaks off after the first half of its resources, with 500
//	delay=D            wait first
//	late=D             reset the connection, apply after D, whatever the subscription's state
//	                   has become
//	slow=D             apply at once, answer after D
//	overlook           a DELETE that finds nothing does not see a create that was accepted
//	                   and is hidden either: 204 (overlook=404: 404), and the create lands
//	unshown            an accepted DELETE that the resource shows nothing of until its end,
//	                   which takes what was written since with it; one without a polling
//	                   URL is shown all the same
//	polls-late=D       the operation that it begins is 404 to polls for D
//	polls-strict       polls of that operation are 400 but with the api-version of its URL
//	cut-answer         apply, and end the connection after half of the answer
//	reset-after        apply, then reset the connection
//	stall              send half of the body, then hang until the client goes
//	bad-json           a body that breaks off
//	big=N              a body of N bytes, its length declared
//	big-chunked=N      the same, its length not declared
//	foreign-location   polling URLs on another host (the write becomes asynchronous)
//	own-location       polling URLs on its own host (the same)
//	foreign-next       nextLink on another host
//	own-next           nextLink on its own host
//	next-loop          a page whose nextLink leads to itself
//	endless-pages      an empty page that leads to another one, which does the same
//	no-value           an object without a value
//	gzip-bomb=N        a page of N bytes, compressed to next to nothing
//	hop-headers        hop-by-hop and server headers, a correlation id of its own
//
// Options.Breaks has it break rules of the contract, each by a name that [Breaks]
// explains, so that a suite that holds providers to the contract can be seen to
// fail. A break changes the answers of one rule and leaves all others as they
// are.
//
// What the contract leaves to a provider is decided so: children in a machine's
// properties.runCommands are created or replaced with it, and those that it
// does not name stay; a network interface is not deleted while it has
// ipConfigurations (409), while other nested resources go with their parent; a
// machine's SKU can change within its family alone; a notice about a
// subscription counts for both namespaces unless its body or query names one; a
// machine's testResults/latest tells of its newest runTests for as long as the
// machine stands.
//
// A cluster of Contoso.Insight is made of machines of Contoso.Compute:
// properties.workers tells how many, properties.machines which. The provider
// makes them through the front door, in an internal subscription of its own,
// each with the tag resourceCreatedFor; Options.FrontDoor says where that is.
//
// Tracked resources at the top move to another group, with all that hangs below
// them (POST …/resourceGroups/{g}/moveResources, and validateMoveResources, which
// only tells whether that would be refused). What the property linkedTo of one
// names, an id or a list of ids in the same group, moves together with it or not
// at all: 400 with the ids that are missing.
//
// Below /contoso/ it serves its own administration, which is no part of the
// contract: POST, GET and DELETE /contoso/faults (misbehaviour for requests
// that match a method and a part of the path), GET and DELETE
// /contoso/requests (what it received, but for notices), GET
// /contoso/subscriptions (what notices said of each, and in which order), and
// GET /contoso/resources (the ids that it holds).
package contoso
