package exchange

import (
	"portico/access/roles"
	"portico/limits"
	"portico/routing"
)

// Step is a step of handling a request at which it may be refused.
type Step string

// The steps, in order.
const (
	AtHead           Step = "head"   // bytes, header lines and host, before any handler
	AtSignIn         Step = "signIn" // if the request has a credential
	AtClassification Step = "classification"
	AtLimits         Step = "limits"
	AtRoles          Step = "roles"
	AtContent        Step = "content"
	AtArguments      Step = "arguments"
	AtPlace          Step = "place"   // subscription, group, registration, region
	AtHeaders        Step = "headers" // too many for a provider
	AtLocks          Step = "locks"
	AtRecords        Step = "records" // room to remember what the request begins
	AtShape          Step = "shape"   // the body, if PUTs are checked against the provider's documents
	AtIntent         Step = "intent"  // the transaction that decides about a write
	AtHandler        Step = "handler" // one of Portico's own resources
)

// Trail records what the steps of a request found, to explain them. It is nil for a
// request that is not explained.
type Trail struct {
	Steps []Step // in the order in which they were reached
	// RoleChecks are the questions about the caller's roles, with their answers.
	RoleChecks []RoleCheck
	// Decision is the decision who serves the request, nil until it is made.
	Decision *routing.Decision
	// Sought are the resources that were searched for, as the index does not know them.
	Sought []routing.Sought
	// Limit is the refusal of a caller that sends too many requests, or nil.
	Limit *limits.Refusal
}

// RoleCheck is a question about the caller's roles, with its answer.
type RoleCheck struct {
	Action, Scope string
	Grant         roles.Grant // the grant that allows it; without a Role, Err decides
	Partly        bool        // the caller sees only part of what it asks for
	Err           error
	// Held are the grants of the caller that were examined: all of them if Err is a
	// refusal.
	Held roles.Grants
}

// Reach records that the request has come to a step.
func (x *Exchange) Reach(s Step) {
	if x.Trail != nil {
		x.Trail.Steps = append(x.Trail.Steps, s)
	}
}

// Decided records who serves the request.
func (x *Exchange) Decided(d *routing.Decision) {
	if x.Trail != nil {
		found := *d
		x.Trail.Decision = &found
	}
}
