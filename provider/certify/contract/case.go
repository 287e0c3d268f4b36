package contract

import "slices"

// Case is one rule, and how to check it. Most run once for each resource type that the
// rule concerns.
type Case struct {
	// ID is stable over versions of the suite: "family/rule". A released id is
	// never given to another rule.
	ID      string
	Profile Profile
	Section string // section of the contract
	// Guideline is the number of the [Guideline] with the same rule,
	// "RPC-Put-V1-11"; "" if there is none.
	Guideline string
	Rule      string
	// Disruptive cases may disturb other users of the provider; they run only on request.
	Disruptive bool
	// Through describes how a front door changes the rule; "" if it does not.
	Through string
	// On selects the types. A case with a nil On concerns no type in
	// particular and runs once.
	On func(*Type) bool
	// Once runs the case only for the first type that On selects.
	Once bool
	// First cases run even if no resource of the type can be created and read,
	// because that is their rule.
	First bool
	// OwnGroup gives the case its own resource group for each type, because it
	// is about groups or about a whole collection.
	OwnGroup bool
	// AtEnd runs the case after all others, one at a time, because it judges the answers
	// that they got.
	AtEnd bool
	// Side limits the case to direct calls or to calls through a front door;
	// zero means both.
	Side Side
	Run  func(*Scene)
}

// Side is a way to reach the provider.
type Side int

// The sides.
const (
	BothWays Side = iota
	StraightOnly
	ThroughOnly
)

// Sections of the contract, as results name them.
const (
	arguments       = "resource reference, Arguments for CRUD on Resource"
	putResource     = "resource reference, Put Resource"
	patchResource   = "resource reference, Patch Resource"
	deleteResource  = "resource reference, Delete Resource"
	getResource     = "resource reference, Get Resource"
	paging          = "resource reference, Paging Response Body"
	tracing         = "addendum, Instrumentation and Tracing across services"
	etags           = "addendum, ETags for Resources"
	nested          = "addendum, Nested Resources"
	groupDeletes    = "addendum, Resource Group Deletes"
	moveResource    = "resource reference, Move Resource"
	retrying        = "addendum, Retrying REST Calls"
	createdFor      = "addendum, Correlating resources created on behalf of customer"
	designing       = "addendum, Designing Resources"
	skus            = "addendum, Enumerating SKUs for an existing resource"
	operationFormat = "async reference, Azure-AsyncOperation Resource format"
	asyncPut        = "async reference, Creating/Updating using PUT"
	asyncPatch      = "async reference, Updating using PATCH"
	asyncDelete     = "async reference, Delete Resource Asynchronously"
	asyncPost       = "async reference, Call Action POST Asynchronously"
	stateProperty   = "async reference, ProvisioningState property"
	accepted        = "async reference, 202 Accepted and Location Headers"
	resultRules     = "async reference, Operation result rules"
	moreThanADay    = "async reference, Long running operations running more than a day"
	etagSpec        = "etag spec, Proposed change"
	etagClients     = "etag spec, Client (CLI) impact"
	systemData      = "common headers, x-ms-arm-resource-system-data"
	nameCheck       = "check name availability"
	operationsList  = "operations list"
	lifecycle       = "subscription life cycle"
	httpSemantics   = "HTTP semantics, HEAD"
	preflights      = "preflight"
)

// All returns the cases, family by family.
func All() []Case {
	cases := families()
	for i, c := range cases {
		if c.Guideline == "" {
			cases[i].Guideline = heldGuidelines[c.ID]
		}
	}
	return cases
}

func families() []Case {
	return slices.Concat(
		argumentCases(), casingCases(),
		putCases(), locationCases(), bodyCases(), tagCases(), patchCases(), deleteCases(),
		readCases(), listCases(), pageCases(),
		etagCases(), etagTable(),
		stateCases(), asyncPutCases(), acceptedPutCases(), acceptedCases(), urlCases(), operationCases(), pollerCases(),
		childCases(), extensionCases(), actionCases(), nameCases(), headerCases(), subscriptionCases(),
		moveCases(), createdForCases(), managedCases(), certificateCases(), envelopeCases(),
		retryCases(), spellingCases(), raceCases(), pagingCases(), burstCases(), tagNameCases(), watchCases(), preflightCases(), longLinkCases(),
	)
}

func writable(t *Type) bool { return !t.Contract.ReadOnly }

func isTracked(t *Type) bool { return t.Kind == Tracked }

// isFirst selects types whose resources lie directly in a group.
func isFirst(t *Type) bool { return writable(t) && !t.nested() && t.Kind != Extension }

func isTop(t *Type) bool { return isFirst(t) && isTracked(t) }

func hasETags(t *Type) bool { return t.Capabilities.ETags && writable(t) }

func hasOldVersion(t *Type) bool { return hasETags(t) && len(t.Contract.WithoutETags) > 0 }

func hasChange(t *Type) bool { return writable(t) && len(t.Contract.Change) > 0 }

func hasOther(t *Type) bool { return writable(t) && len(t.Contract.Other) > 0 }

func hasSKU(t *Type) bool { return len(t.Contract.OtherSKU) > 0 }

func hasActions(t *Type) bool { return len(t.Contract.Actions) > 0 }
