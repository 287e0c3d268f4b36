package api

import (
	"net/http"
	"time"
)

// Severities of a problem, the worst first.
const (
	Critical = "critical" // requests fail, or are not accounted for
	Warning  = "warning"  // something waits, or will fail
)

// Problem is something that is wrong.
type Problem struct {
	Severity string `json:"severity"` // critical or warning
	// Code is one of a fixed set, such as regionDown or jobsOverdue.
	Code string `json:"code"`
	// Summary describes the problem in one sentence.
	Summary string `json:"summary"`
	// Subject is the region, the address or the ID that the problem is about. It may be
	// empty.
	Subject string     `json:"subject,omitempty"`
	Count   int        `json:"count,omitempty"`
	Since   *time.Time `json:"since,omitempty"`
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
		{StoreDown, Critical, "The store does not answer: whatever needs it is refused with 503.", "portico ready"},
		{CreationsHeld, Critical, "Resources cannot be created in a subscription, in any region: a region that has not been listed, since the store was " +
			"restored or yet, does not say whether it has them.", "portico doubts"},
		{RegionDown, Critical, "No endpoint of a region can be reached.", "portico regions"},
		{EndpointDown, Critical, "No address of a provider's endpoint can be reached: every call to it is refused.", "portico regions"},
		{Untrusted, Critical, "Calls came to nothing within the last minutes, as a provider and Portico do not trust each other.", "portico regions"},
		{IssuerUnavailable, Critical, "The keys of an issuer of tokens cannot be fetched: tokens that are signed by keys that are not known " +
			"yet are refused with 503.", "portico explain --ask --bearer-file FILE /subscriptions"},
		{CertificateEnded, Critical, "A certificate has ended.", "portico reload"},
		{AuditLinesLost, Critical, "Audit lines could not be written since the gateway started.", ""},
		{RemovedCredentials, Critical, "Tokens that the configuration's file has no more are still accepted.", "portico reload"},
		{JobsOverdue, Critical, "Jobs have been due for more than three leases, and no one works on them.", "portico jobs list --kind " + NextOf},
		{ProviderSheds, Warning, "Calls were refused within the last minutes, as all slots of an endpoint were taken.", "portico regions"},
		{CircuitOpen, Warning, "Connections to an address could not be made.", "portico regions"},
		{AddressDown, Warning, "An address is left out, for its probes or for its answers.", "portico regions"},
		{RegionsUnlisted, Warning, "Before a resource is created in a subscription, regions are asked whether they have it: they have not been listed, " +
			"since the store was restored or yet.", "portico doubts"},
		{StoreSlow, Warning, "The store takes long to begin a transaction.", ""},
		{BudgetUsedUp, Warning, "A budget of memory is almost used up.", ""},
		{GroupDeleteTooLong, Warning, "The deletion of a group has gone on for longer than groupDelete.limit.", "portico jobs show " + NextOf},
		{GroupDeleteWaiting, Warning, "The deletion of a group waits for a region that does not answer.", "portico jobs show " + NextOf},
		{GroupDeleteSlow, Warning, "The deletion of a group has gone on for more than half an hour.", "portico jobs show " + NextOf},
		{JobTooLong, Warning, "A job has gone on for longer than its kind should, such as a move of resources.", "portico jobs show " + NextOf},
		{JobsPutOff, Warning, "Jobs were attempted many times in a row in vain.", "portico jobs list --kind " + NextOf},
		{FollowsTooLong, Warning, "Accepted writes have been followed for longer than index.followLimit.", "portico doubts"},
		{VerificationsTooLong, Warning, "Providers have been asked for more than an hour whether resources are there.", "portico doubts"},
		{FencesTooLong, Warning, "Fences have stood for longer than index.followLimit.", "portico fences"},
		{Strays, Warning, "Resources lie in another region than the index has them in.", "portico sweep --dry-run"},
		{IndexDrift, Warning, "The latest sweep found that index and providers disagreed.", "portico jobs list --kind sweep"},
		{SweepIncomplete, Warning, "The latest sweep could not look at every region in full.", "portico jobs list --kind sweep"},
		{EventsWaiting, Warning, "Changes have waited for more than a minute to be shown in the activity log and the feed.", "portico changes"},
		{SinkAway, Warning, "The receiver of a sink takes nothing.", "portico sinks show " + NextOf},
		{SinkBehind, Warning, "A sink has not come to an event that is more than five minutes old.", "portico sinks show " + NextOf},
		{SinkDeadLetters, Warning, "Events of a sink were given up.", "portico sinks dead " + NextOf},
		{ReplicaDied, Warning, "A replica ended within the last hour without leaving.", ""},
		{ReloadFailed, Warning, "The configuration that was read last was refused; the one before goes on.", "portico reload"},
		{CertificateEnds, Warning, "A certificate ends within 14 days.", "portico reload"},
		{AccessLinesLost, Warning, "Lines of the access log were lost since the gateway started.", ""},
	}
}

// The codes of problems.
const (
	StoreDown            = "storeDown"
	CreationsHeld        = "creationsHeld"
	RegionDown           = "regionDown"
	EndpointDown         = "endpointDown"
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
)

var statusOperations = []Operation{
	{
		Method: http.MethodGet, Path: "/admin/status",
		Summary: "The problems, the worst first, and the state of this gateway.",
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
