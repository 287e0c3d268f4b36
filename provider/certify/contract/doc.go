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
// a sentence, the types that it applies to and what to try. [Try] runs every case
// on every such type, several at once, below one resource group, and reports the
// expected and the actual answers, with the exchange that shows them. Cases about
// groups, or about all that a collection has, use further groups. The same cases
// run straight at a provider, as a front door would call it, and through a front
// door, with a bearer token for each caller; only the [Adapter] differs. If a
// front door changes an answer, the case names both answers.
//
// # Judging justly
//
// A provider is judged by the contract alone. What the contract leaves free is
// accepted: whether a write is answered at once, by a state that is not terminal
// or by 202; codes and texts of errors; which status of 4xx refuses what; further
// properties, defaults, spellings of locations and types. What it leaves optional is
// tried where the provider has it, and left out with a reason where not. What a
// rule needs first is no part of it: a case prepares with s.create and its
// like, or in s.prepare. A fault there makes the case unreached, because another
// case reports it. So a single break is named by the cases of its rule alone. For
// the same reason a case compares with what the provider showed before, rather
// than with what it should have shown, and asserts nothing in passing.
//
// Cases on a type run only if a resource of the type can be made and read, which
// is tried once: a provider that refuses everything, or answers everything with
// nothing, keeps no rule. The rules of making and reading themselves are tried
// in any case (First).
//
// An asynchronous provider can be steered, if its [Description] says which request
// headers lead to which pattern and how its operations end; then cases ask for long
// operations to see them running, and for ones that fail. Of any other the suite
// makes the write once and judges by what comes. A state that was terminal while
// the operation ran counts only if later polls find the operation still running:
// nothing depends on time. Waits are bounded by [Limits]; a provider's Retry-After
// counts up to the longest pause, that of a 429 wholly.
//
// To add a case, add an entry to its family in a file cases_….go, or a row if the
// family has a table, and its id to testdata/ids.txt. Its Run uses the [Scene]:
// s.id is a resource of this case alone, s.body a valid body, s.put, s.get and so
// on make calls, and the methods of [Answer] compare what came with what is
// expected. Then break the rule in a provider that is right otherwise (the tests
// of this package, and the reference provider): that case, and no other, must
// report it.
//
// The package is large because each of its cases_….go files is one family of
// rules, and all are written in the unexported words of Scene and Answer; what
// runs them is a third of it.
//
// # Rules that no case checks
//
// Of the resource reference:
//   - the characters of namespaces and type names, plural lowerCamelCase, words
//     that are reserved: they are about a declaration, and are checked where a
//     region map is read;
//   - which milestone suffixes an api-version may have: it has those that it has;
//   - 403 for a client certificate that is not trusted, and for nothing else: without
//     the front door's certificate the first is not tried. No other case takes a
//     403 for a right answer;
//   - what is repeated inside properties under another name or with another value:
//     what a member means cannot be seen. Name and value alike are a repetition;
//   - billing of sku and plan, and managedBy in complete mode: the parts that
//     act on them are not there;
//   - Move Resource, straight: what the front door checks before it calls a
//     provider, and restrictions of the provider's own;
//   - casing of an id beyond group and name: it may be known in one alone. That it
//     never makes two resources of one is held;
//   - the very status of a refusal, where the contract names none, and whether
//     what it says cannot change is refused or ignored;
//   - that a location is served, straight: the front door knows the locations;
//   - $top where a list has come in one page: paging is optional;
//   - collections of nested and extension types: not required;
//   - pages without records: permitted, not demanded. The suite reads on past
//     them, as clients must.
//
// Of the addendum:
//   - correlation and client-request ids are logged: logs are not seen from
//     outside;
//   - names and isolation of regional endpoints: deployment decides these;
//   - the order and repetition of deletes in a group, polling intervals, retries
//     and giving up: rules for the front door and for clients. That a delete is
//     refused with 4xx until another resource has gone is held;
//   - Retry-After on 408 and 5xx but 503: it may be there. On a 429 or 503 that was
//     seen in a run it is held;
//   - SKUs for a new resource: the metadata store answers these;
//   - templates, orchestration, RBAC and billing of tracked and proxy-only
//     resources;
//   - the tag resourceCreatedFor, where the provider's own subscription cannot be
//     read.
//
// Of the async reference:
//   - every header of a finished Location: status, body and ETag are compared,
//     ids and dates differ by nature;
//   - that polling URLs live for more than a day: a run does not last that long. The proxy
//     resource that tells of such an operation is held;
//   - that a URL below the subscription is preferred: each permitted place is
//     held;
//   - of an operation that cannot be steered, that it stays unfinished for long, fails or
//     is canceled: only what is seen is judged;
//   - that error messages are localized and actionable: a reader judges that.
//
// Of the etag spec:
//   - SHA-512 over the fields but the ignored ones, stored with the resource:
//     how a tag is made is not seen. That it is weak, changes with the
//     resource, not by reading, and is the same in every api-version, is held;
//   - whether the end of an operation changes the tag: it may tag what it shows;
//   - lists of tags in If-Match, the weak comparison of tags, and 304: the contract's
//     table has single tags alone;
//   - the command-line and Python clients, notifications, RPC and the database;
//   - that If-None-Match is not supported: the addendum's table has it.
package contract
