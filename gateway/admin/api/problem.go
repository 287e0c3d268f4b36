package api

import (
	"net/http"
	"time"
)

// Severities of a problem, the worst first.
const (
	Critical = "critical" // requests fail, or are not accounted for
	Warning  = "warning"  // something waits, or will fail
	Planned  = "planned"  // an operator ordered it, and it ends by itself
)

// Problem is something that is wrong.
type Problem struct {
	Severity string `json:"severity"` // critical, warning or planned
	// Code is one of a fixed set, such as regionDown or jobsOverdue.
	Code string `json:"code"`
	// Summary describes the problem in one sentence.
	Summary string `json:"summary"`
	Detail  string `json:"detail,omitempty"` // what is affected, and what else fails, in sentences
	// Subject is the region, the address or the ID that the problem is about. It may be
	// empty.
	Subject  string     `json:"subject,omitempty"`
	Count    int        `json:"count,omitempty"`
	Since    *time.Time `json:"since,omitempty"`
	CausedBy string     `json:"causedBy,omitempty"` // the subject of the outage before it, of which it is a consequence
	Advice   string     `json:"advice,omitempty"`   // what to do about it, as a clause
	// Next is the command that shows more, or solves the problem; if there is none, a
	// path of this listener.
	Next string `json:"next,omitempty"`
}

// ProblemKind describes the problems of one code.
type ProblemKind struct {
	Code, Severity, Meaning string
	// Next is the Next of its problems; [NextOf] stands for the subject or, for a job, its
	// ID. Some kinds have none.
	Next string
}

// NextOf is the placeholder in a kind's Next for the subject of a problem.
const NextOf = "{}"

// ProblemKinds returns all kinds of problems, the worst first.
func ProblemKinds() []ProblemKind {
	return []ProblemKind{
		{StoreDown, Critical, "The store does not answer: requests that need it are refused with 503.", "portico ready"},
		{CreationsHeld, Critical, "Resources cannot be created in a subscription, in any region: a region that has not been listed (yet, or " +
			"since the store was restored) does not answer whether it has them.", "portico doubts"},
		{RegionDown, Critical, "No endpoint of a region can be reached. Regions with an address in common are one problem.", "portico regions"},
		{EndpointDown, Critical, "No address of a provider's endpoint can be reached: every call to it is refused. Endpoints with an " +
			"address in common are one problem.", "portico regions"},
		{ListsFail, Critical, "Lists over several regions fail for all callers, because a provider in one region answers with errors or too late.",
			"portico errors --blame provider"},
		{Untrusted, Critical, "Calls failed within the last minutes because a provider and Portico do not trust each other.", "portico regions"},
		{IssuerUnavailable, Critical, "The keys of a token issuer cannot be fetched: tokens signed by a key that is not known yet are refused " +
			"with 503.", "portico explain --ask --bearer-file FILE /subscriptions"},
		{CertificateEnded, Critical, "A certificate has expired.", "portico reload"},
		{AuditLinesLost, Critical, "Audit lines could not be written since the gateway started.", ""},
		{RemovedCredentials, Critical, "Credentials that were removed from the configuration's files are still accepted.", "portico reload"},
		{JobsOverdue, Critical, "Jobs have been due for more than three leases, and no replica runs them.", "portico jobs list --kind " + NextOf},
		{ProviderSheds, Warning, "Calls were refused within the last minutes because all slots of an endpoint were in use.", "portico regions"},
		{CircuitOpen, Warning, "Connections to an address failed; others of its endpoint are used.", "portico regions"},
		{AddressDown, Warning, "An address is not used because of its probes or its answers; others of its endpoint are used.", "portico regions"},
		{RegionsUnlisted, Warning, "Before a resource is created in a subscription, regions are asked whether they have it, because they have " +
			"not been listed (yet, or since the store was restored).", "portico doubts"},
		{StoreSlow, Warning, "The store is slow to start transactions.", ""},
		{BudgetUsedUp, Warning, "A memory budget is almost used up.", ""},
		{GroupDeleteTooLong, Warning, "A group deletion has been running for longer than groupDelete.limit.", "portico jobs show " + NextOf},
		{GroupDeleteWaiting, Warning, "A group deletion waits for a region that does not answer.", "portico jobs show " + NextOf},
		{GroupDeleteSlow, Warning, "A group deletion has been running for more than half an hour.", "portico jobs show " + NextOf},
		{JobTooLong, Warning, "A job, such as a move of resources, has been running for longer than expected for its kind.", "portico jobs show " + NextOf},
		{JobsPutOff, Warning, "Jobs failed many times in a row.", "portico jobs list --kind " + NextOf},
		{FollowsTooLong, Warning, "Accepted writes have been followed for longer than index.followLimit.", "portico doubts"},
		{VerificationsTooLong, Warning, "Resources have been unverified for more than an hour.", "portico doubts"},
		{FencesTooLong, Warning, "Fences have existed for longer than index.followLimit.", "portico fences"},
		{Strays, Warning, "Resources exist in a region other than that in the index.", "portico sweep --dry-run"},
		{IndexDrift, Warning, "The latest sweep found differences between index and providers.", "portico jobs list --kind sweep"},
		{SweepIncomplete, Warning, "The latest sweep could not list every region completely.", "portico jobs list --kind sweep"},
		{EventsWaiting, Warning, "Changes have been waiting for more than a minute to appear in the activity log and the change feed.", "portico changes"},
		{SinkAway, Warning, "The receiver of a sink accepts no events.", "portico sinks show " + NextOf},
		{SinkBehind, Warning, "A sink is more than five minutes behind.", "portico sinks show " + NextOf},
		{SinkDeadLetters, Warning, "Events of a sink were given up.", "portico sinks dead " + NextOf},
		{ReplicaDied, Warning, "A replica stopped within the last hour without shutting down.", ""},
		{ReloadFailed, Warning, "The latest configuration was refused; the one before stays in use.", "portico reload"},
		{CertificateEnds, Warning, "A certificate expires within 14 days.", "portico reload"},
		{AccessLinesLost, Warning, "Lines of the access log were lost since the gateway started.", ""},
		{RegionDrained, Planned, "A region is out for maintenance: nothing new is created there, and its outages are expected.",
			"portico regions undrain " + NextOf},
		{AddressDrained, Planned, "An address is out for maintenance: it is called only if no other address of its endpoint can be.",
			"portico regions undrain " + NextOf},
	}
}

// The codes of problems.
const (
	StoreDown            = "storeDown"
	CreationsHeld        = "creationsHeld"
	RegionDown           = "regionDown"
	EndpointDown         = "endpointDown"
	ListsFail            = "listsFail"
	Untrusted            = "untrusted"
	IssuerUnavailable    = "issuerUnavailable"
	CertificateEnded     = "certificateEnded"
	AuditLinesLost       = "auditLinesLost"
	RemovedCredentials   = "removedCredentials"
	JobsOverdue          = "jobsOverdue"
	ProviderSheds        = "providerSheds"
	CircuitOpen          = "circuitOpen"
	AddressDown          = "addressDown"
	RegionsUnlisted      = "regionsUnlisted"
	StoreSlow            = "storeSlow"
	BudgetUsedUp         = "budgetUsedUp"
	GroupDeleteTooLong   = "groupDeleteTooLong"
	GroupDeleteWaiting   = "groupDeleteWaiting"
	GroupDeleteSlow      = "groupDeleteSlow"
	JobTooLong           = "jobTooLong"
	JobsPutOff           = "jobsPutOff"
	FollowsTooLong       = "followsTooLong"
	VerificationsTooLong = "verificationsTooLong"
	FencesTooLong        = "fencesTooLong"
	Strays               = "strays"
	IndexDrift           = "indexDrift"
	SweepIncomplete      = "sweepIncomplete"
	EventsWaiting        = "eventsWaiting"
	SinkAway             = "sinkAway"
	SinkBehind           = "sinkBehind"
	SinkDeadLetters      = "sinkDeadLetters"
	ReplicaDied          = "replicaDied"
	ReloadFailed         = "reloadFailed"
	CertificateEnds      = "certificateEnds"
	AccessLinesLost      = "accessLinesLost"
	RegionDrained        = "regionDrained"
	AddressDrained       = "addressDrained"
)

var statusOperations = []Operation{
	{
		Method: http.MethodGet, Path: "/admin/status",
		Summary: "The problems, most severe first, and the state of this gateway.",
		Answer:  Status{}, Status: http.StatusOK,
	},
}

// Status is the state of this gateway, with all problems.
type Status struct {
	Version    string    `json:"version"`
	Revision   string    `json:"revision,omitempty"`
	Region     string    `json:"region"`
	Started    time.Time `json:"started"`
	Generation int       `json:"generation"` // of the configuration
	Store      string    `json:"store"`      // sqlite or postgres
	Replicas   int       `json:"replicas"`   // gateways that share the store, this one counted
	// Problems are the known problems, the worst first.
	Problems []Problem `json:"problems"`
}
