// Package contoso is a reference resource provider: one regional endpoint of
// the namespaces Contoso.Compute and Contoso.Insight. It keeps the contract
// between resource providers and the front door, so that demonstrations and
// tests can predict every answer. It imports none of the gateway's packages: a
// provider that shared their parser would share their bugs.
//
// It is one package because it is one state machine: every handler reads and
// changes the same resources, operations and subscriptions inside one
// transaction. Only package fault, which needs none of these, stands apart.
//
// A request is parsed by position into an address, looked up in the catalogue of
// resource types, and answered under one lock inside a transaction. The
// transaction's change is written to the journal (if there is a state file)
// before it becomes visible, so an acknowledged write survives a kill.
// Asynchronous operations have a due time and no timer: the next transaction
// finishes all that are due, in the order of their due times.
//
// Request headers choose how a write is carried out:
//
//	x-contoso-async           state, azure-async, accepted, accepted-async,
//	                          accepted-status for PUT; location, azure-async,
//	                          azure-async-only, no-url for PATCH, DELETE and POST;
//	                          absent: synchronous
//	x-contoso-duration        how long the operation takes, a Go duration (200ms)
//	x-contoso-outcome         Failed or Canceled: it ends so, its update reverted;
//	                          Cancelled: as Canceled, in a spelling that the contract
//	                          does not have, and some providers do
//	x-contoso-retry-after     the Retry-After to send, as it is (none)
//	x-contoso-operation-path  where the polling URL lies: locations, provider, resource
//	x-contoso-page-size       resources on a page
//	x-contoso-fault           one fault; package fault lists them
//
// Options.Breaks breaks rules of the contract, each by a name that [Breaks]
// explains, to show that a conformance suite can fail. A break changes the
// answers of one rule and no others.
//
// Options.Habits makes the provider take freedoms that the contract leaves, such as
// adding defaults to properties.
//
// Options.AnyType makes the provider serve unknown types, with any body. A type's name
// determines how its resources are created, replaced and deleted.
//
// Where the contract leaves a choice, contoso chose:
//   - a PUT of a machine creates or replaces the children in its
//     properties.runCommands; children that it does not name stay;
//   - a network interface with ipConfigurations cannot be deleted (409); other
//     nested resources are deleted with their parent;
//   - a machine's SKU changes only within its family;
//   - a notification about a subscription counts for both namespaces, unless its
//     body or query names one;
//   - a machine's testResults/latest shows its newest runTests until the machine
//     is deleted.
//
// A cluster of Contoso.Insight consists of machines of Contoso.Compute:
// properties.workers is their number, properties.machines lists their ids. The
// provider creates them through the front door at Options.FrontDoor, in an
// internal subscription of its own, each with the tag resourceCreatedFor.
//
// Tracked top-level resources can move to another group, with everything below
// them (POST …/resourceGroups/{g}/moveResources; validateMoveResources only
// checks). The property linkedTo names one id or a list of ids in the same group,
// which must move together with the resource: otherwise 400 with the missing ids.
//
// With Options.Clients it serves only front doors that show a certificate of these
// authorities; all other calls get 403 UntrustedClientCertificate.
//
// Below /contoso/ it serves its own administration, outside the contract: POST,
// GET and DELETE /contoso/faults (faults for requests that match a method and a
// part of the path), GET and DELETE /contoso/requests (the requests received,
// without notifications), GET /contoso/subscriptions (the notifications of each,
// in order), and GET /contoso/resources (the ids of all resources).
package contoso
