package exchange

import (
	"portico/access/roles"
	"portico/limits"
	"portico/routing"
)

// Stage is a step of handling a request at which it may be refused.
type Stage string

// The steps, in order.
const (
	AtHead           Stage = "head"   // bytes, header lines and host, before any handler
	AtSignIn         Stage = "signIn" // if the request has a credential
	AtClassification Stage = "classification"
	AtLimits         Stage = "limits"
	AtRoles          Stage = "roles"
	AtContent        Stage = "content"
	AtArguments      Stage = "arguments"
	AtPlace          Stage = "place"   // subscription, group, registration, region
	AtHeaders        Stage = "headers" // too many for a provider
	AtLocks          Stage = "locks"
	AtRecords        Stage = "records" // room to remember what the request begins
	AtShape          Stage = "shape"   // the body, if PUTs are checked against the provider's documents
	AtIntent         Stage = "intent"  // the transaction that decides about a write
	AtHandler        Stage = "handler" // one of Portico's own resources
)

// Trail records what the steps of a request found, to explain them. It is nil for a
// request that is not explained.
type Trail struct {
	Stages []Stage // in the order in which they were reached
	// RoleChecks are the questions about the caller's roles, with their answers.
	RoleChecks []RoleCheck
	// Decision is the decision who serves the request, nil until it is made.
	Decision *routing.Decision
	// Searched are the resources that were searched for, as the index does not know them.
	Searched []routing.SearchedResource
	// Limit is the refusal of a caller that sends too many requests, or nil.
	Limit *limits.Refusal
}

// RoleCheck is a question about the caller's roles, with its answer.
type RoleCheck struct {
	Action, Scope string
	Grant         roles.Grant // the grant that allows it; without a Role, Err decides
	Partly        bool        // the caller sees only part of what it asks for
	Err           error
	// Grants are the grants of the caller that were examined: all of them if Err is a
	// refusal.
	Grants roles.Grants
}

// RecordStage records that the request has come to a step.
func (x *Exchange) RecordStage(s Stage) {
	if x.Trail != nil {
		x.Trail.Stages = append(x.Trail.Stages, s)
	}
}

// RecordDecision records who serves the request.
func (x *Exchange) RecordDecision(d *routing.Decision) {
	if x.Trail != nil {
		found := *d
		x.Trail.Decision = &found
	}
}
