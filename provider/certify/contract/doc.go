// Package contract checks from outside that resource providers keep the contract.
// It knows only a provider's addresses and its [Description]: the provider's part
// of a region map, with valid bodies for each type and the headers that request
// asynchronous answers. It can check any provider with such a description:
//
//	d := &contract.Description{Providers: …}
//	err := d.Complete()
//	…
//	var found contract.Recorder
//	err = contract.Try(ctx, contract.Target{
//		Adapter:     contract.Straight(map[string]string{"westus": "http://127.0.0.1:9000"}),
//		Description: d,
//	}, &found)
//
// A [Case] is one rule: the section of the contract that demands it, the rule in
// a sentence, the types that it applies to, and a function that tries it. [Try]
// runs every case on every such type, several at once, below one resource group,
// and reports the expected and the actual answers, with the exchange that shows
// them. Cases about groups or whole collections use further groups. The same
// cases run directly at a provider, with the headers of a front door, and through
// a front door, with a bearer token for each caller; only the [Adapter] differs.
// If a front door changes an answer, the case names both answers.
//
// # Judging justly
//
// Only the contract counts. Cases accept everything that it leaves open: whether a
// write is answered with its result, with a state that is not terminal or with
// 202; codes and texts of errors; the exact 4xx of a refusal; further properties,
// defaults, spellings of locations and types. Optional features are tried if the
// provider has them, and are otherwise left out with a reason. The preparations of
// a case are not part of its rule: they use s.create and the like, or run in
// s.prepare. A fault in them makes the case unreached, because another case
// reports that fault. So a single defect is reported only by the cases of its own
// rule. For the same reason a case compares an answer with the provider's earlier
// answers, not with the right ones, and asserts nothing in passing.
//
// Cases on a type run only if a resource of the type can be created and read,
// which is tried once: a provider that refuses everything, or answers everything
// with an empty body, keeps no rule. The rules of creating and reading themselves
// are always tried (First).
//
// An asynchronous provider can be steered if its [Description] names the request
// headers that select a pattern and an outcome. Then cases request long operations
// to see them running, and failing ones. Otherwise the suite makes the write once
// and judges the answer that it gets. A terminal state seen during an operation
// counts as wrong only if later polls find the operation still running, so that
// nothing depends on time. [Limits] bound waits; a provider's Retry-After counts up
// to the longest pause, and without a bound on a 429.
//
// To add a case, add an entry to its family in a file cases_….go, or a row if the
// family has a table, and its id to testdata/ids.txt. Its Run uses the [Scene]:
// s.id is a resource of this case only, s.body a valid body, s.put, s.get and so
// on make calls, and the methods of [Answer] compare the answer with the expected
// one. Then break the rule in an otherwise correct provider (the tests of this
// package, and the reference provider): only that case must report it.
//
// The package is large because each of its cases_….go files is one family of
// rules, written with the unexported methods of Scene and Answer; the code that
// runs them is a third of it.
//
// # Rules that no case checks
//
// Resource reference:
//   - characters of namespaces and type names, plural lowerCamelCase, reserved
//     words: these concern declarations, and the reader of region maps checks them;
//   - milestone suffixes of api-versions: any may be in use;
//   - 403 for an untrusted client certificate only: the certificate itself is not
//     tried without the front door's own. No other case accepts a 403;
//   - repetitions inside properties under another name or with another value: the
//     meaning of a member cannot be seen. The same name and value count;
//   - billing of sku and plan, and managedBy in complete mode: other components
//     act on them;
//   - Move Resource without a front door: checks that a front door makes before it
//     calls a provider, and a provider's own restrictions;
//   - casing of an id beyond group and name: a provider may know only one. A case
//     checks that it never makes two resources of one;
//   - the exact status of a refusal if the contract names none, and whether a
//     change of something immutable is refused or ignored;
//   - whether a location is served, without a front door, which knows the locations;
//   - $top on a list that has one page: paging is optional;
//   - collections of nested and extension types: not required;
//   - pages without records: permitted, not required. The suite reads past them, as
//     clients must.
//
// Addendum:
//   - logging of correlation and client-request ids: logs cannot be seen from
//     outside;
//   - names and isolation of regional endpoints, which depend on the deployment;
//   - order and repetition of deletes in a group, polling intervals, retries and
//     giving up: rules for the front door and for clients. A case checks that a
//     delete may be refused with 4xx until another resource has gone;
//   - Retry-After on 408 and on 5xx other than 503: optional. Every 429 and 503 of
//     a run is checked;
//   - SKUs for a new resource, which the metadata store answers;
//   - templates, orchestration, RBAC, and billing of tracked and proxy-only
//     resources;
//   - the tag resourceCreatedFor, unless the provider's own subscription is
//     readable.
//
// Async reference:
//   - headers of a finished Location: status, body and ETag are compared; ids and
//     dates differ anyway;
//   - polling URLs that live for more than a day: a run is shorter. A case checks
//     the proxy resource that shows such an operation;
//   - preference for a URL below the subscription: each permitted place is checked;
//   - that an operation that cannot be steered stays unfinished for long, fails or
//     is canceled: cases judge only what happens;
//   - that error messages are localized and actionable: a reader judges that.
//
// ETag spec:
//   - SHA-512 over the fields other than the ignored ones, stored with the
//     resource: tags are opaque. Cases check that a tag is weak, changes with the
//     resource and not by reading, and is the same in every api-version;
//   - whether the end of an operation changes the tag: it may tag what it shows;
//   - lists of tags in If-Match, weak comparison, and 304: the contract's table has
//     only single tags;
//   - the command-line and Python clients, notifications, RPC and the database;
//   - that If-None-Match is not supported: it is in the addendum's table.
package contract
