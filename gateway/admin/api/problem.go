package api

import "time"

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
	// Summary says in one sentence what is wrong.
	Summary string `json:"summary"`
	// Subject is what it is wrong with: a region, an address, an ID. May be empty.
	Subject string     `json:"subject,omitempty"`
	Count   int        `json:"count,omitempty"`
	Since   *time.Time `json:"since,omitempty"`
	// Next is the command that shows more, or mends it; for what has none, a path of this
	// listener.
	Next string `json:"next,omitempty"`
}

// ProblemKind is what all problems of one code have in common.
type ProblemKind struct{ Code, Severity, Meaning string }

// ProblemKinds are all kinds of problems, the worst first.
func ProblemKinds() []ProblemKind {
	return []ProblemKind{
		{StoreDown, Critical, "The store does not answer: whatever needs it is refused with 503."},
		{RegionDown, Critical, "No endpoint of a region can be reached."},
		{EndpointDown, Critical, "No address of a provider's endpoint can be reached: every call to it is refused."},
		{Untrusted, Critical, "Calls came to nothing within the last minutes, as a provider and Portico do not trust each other."},
		{CertificateEnded, Critical, "A certificate has ended."},
		{AuditLinesLost, Critical, "Audit lines could not be written since the gateway started."},
		{RemovedCredentials, Critical, "Tokens that the configuration's file has no more are still accepted."},
		{JobsOverdue, Critical, "Jobs have been due for more than three leases, and nobody works on them."},
		{ProviderSheds, Warning, "Calls were refused within the last minutes, as all slots of an endpoint were taken."},
		{CircuitOpen, Warning, "Connections to an address could not be made."},
		{AddressDown, Warning, "An address is left out, for its probes or for its answers."},
		{StoreSlow, Warning, "The store takes long to begin a transaction."},
		{BudgetUsedUp, Warning, "A budget of memory is almost used up."},
		{GroupDeleteTooLong, Warning, "The deletion of a group has gone on for longer than groupDelete.limit."},
		{GroupDeleteWaiting, Warning, "The deletion of a group waits for a region that does not answer."},
		{GroupDeleteSlow, Warning, "The deletion of a group has gone on for more than half an hour."},
		{JobsPutOff, Warning, "Jobs were attempted many times in a row in vain."},
		{FollowsTooLong, Warning, "Accepted writes have been followed for longer than index.followLimit."},
		{VerificationsTooLong, Warning, "Providers have been asked for more than an hour whether resources are there."},
		{FencesTooLong, Warning, "Fences have stood for longer than index.followLimit."},
		{Strays, Warning, "Resources lie in another region than the index has them in."},
		{IndexDrift, Warning, "The latest sweep found that index and providers disagreed."},
		{SweepIncomplete, Warning, "The latest sweep could not look at every region in full."},
		{EventsWaiting, Warning, "Changes have waited for more than a minute to be shown in the activity log and the feed."},
		{SinkAway, Warning, "The receiver of a sink takes nothing."},
		{SinkBehind, Warning, "A sink has not come to an event that is more than five minutes old."},
		{SinkDeadLetters, Warning, "Events of a sink were given up."},
		{ReplicaDied, Warning, "A replica ended within the last hour without leaving."},
		{ReloadFailed, Warning, "The configuration that was read last was refused; the one before goes on."},
		{CertificateEnds, Warning, "A certificate ends within 14 days."},
		{AccessLinesLost, Warning, "Lines of the access log were lost since the gateway started."},
	}
}

// The codes of problems.
const (
	StoreDown            = "storeDown"
	RegionDown           = "regionDown"
	EndpointDown         = "endpointDown"
	Untrusted            = "untrusted"
	CertificateEnded     = "certificateEnded"
	AuditLinesLost       = "auditLinesLost"
	RemovedCredentials   = "removedCredentials"
	JobsOverdue          = "jobsOverdue"
	ProviderSheds        = "providerSheds"
	CircuitOpen          = "circuitOpen"
	AddressDown          = "addressDown"
	StoreSlow            = "storeSlow"
	BudgetUsedUp         = "budgetUsedUp"
	GroupDeleteTooLong   = "groupDeleteTooLong"
	GroupDeleteWaiting   = "groupDeleteWaiting"
	GroupDeleteSlow      = "groupDeleteSlow"
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
