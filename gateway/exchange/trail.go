package exchange

import (
	"portico/access/roles"
	"portico/limits"
	"portico/routing"
)

// Step is a step of a request's way at which it may be refused.
type Step string

// The steps, in their order.
const (
	AtHead           Step = "head"   // what no handler is needed for: its bytes, its header lines, its host
	AtSignIn         Step = "signIn" // of a request that brings its credential
	AtClassification Step = "classification"
	AtLimits         Step = "limits"
	AtRoles          Step = "roles"
	AtContent        Step = "content"
	AtArguments      Step = "arguments"
	AtPlace          Step = "place"   // subscription, group, registration, region
	AtHeaders        Step = "headers" // that are too many for a provider
	AtLocks          Step = "locks"
	AtRecords        Step = "records" // room to remember what the request begins
	AtShape          Step = "shape"   // of the body, where PUTs are held to the provider's documents
	AtIntent         Step = "intent"  // the transaction that decides about a write
	AtHandler        Step = "handler" // of one of Portico's own resources
)

// Trail is what the steps of a request's way found, for an explanation of that way. It
// is nil for a request that is not explained; a nil Trail notes nothing.
type Trail struct {
	Steps []Step // in the order in which they were reached
	// RoleChecks are the questions about the caller's roles, with their answers.
	RoleChecks []RoleCheck
	// Decision says who serves the request, nil until it is known.
	Decision *routing.Decision
	// Sought are resources that the index does not know and that were searched for.
	Sought []routing.Sought
	// Limit is the refusal of a caller that sends too many requests, nil if there is none.
	Limit *limits.Refusal
}

// RoleCheck is a question about the caller's roles, with its answer.
type RoleCheck struct {
	Action, Scope string
	Grant         roles.Grant // that allows it; without a Role: nothing but Err says
	Partly        bool        // the caller sees a part of what it asks for
	Err           error
	// Held are the grants that the caller has, of what was looked at: all of them where Err
	// is a refusal.
	Held roles.Grants
}

// Reach notes that the request has come to a step.
func (x *Exchange) Reach(s Step) {
	if x.Trail != nil {
		x.Trail.Steps = append(x.Trail.Steps, s)
	}
}

// Decided notes who serves the request.
func (x *Exchange) Decided(d *routing.Decision) {
	if x.Trail != nil {
		found := *d
		x.Trail.Decision = &found
	}
}
