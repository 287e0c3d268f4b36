package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

var doubtOperations = []Operation{
	{
		Method: http.MethodGet, Path: "/admin/doubts",
		Summary: "Unverified state: regions that have not been listed in a subscription, then resources. A page that is not full may have a next " +
			"page.",
		Query:  append([]Parameter{{"subscription", "only this subscription"}}, paging...),
		Answer: Page[Doubt]{}, Status: http.StatusOK,
	},
}

// Doubt is a resource whose state the index is not sure of, or a subscription with a region
// whose resources the index may lack.
type Doubt struct {
	ID     string `json:"id"`
	Region string `json:"region"`
	// Phase is the phase of the row; absent if there is no row.
	Phase string    `json:"phase,omitempty"`
	Flags []string  `json:"flags"` // of the row: verify, followPut, followDelete, followPatch
	Why   []Waiting `json:"why"`
	// Until is when the last open write ends by time; an answer that the provider gives
	// later is proof. It is absent if something else has to end as well, or if no write
	// is open.
	Until *time.Time `json:"until,omitempty"`
}

// The reasons for waiting.
const (
	WriteUnderWay       = "writeUnderWay"
	WriteWithoutAnswer  = "writeWithoutAnswer"
	MoveUnderWay        = "moveUnderWay"
	OperationFollowed   = "operationFollowed"
	VerificationPending = "verificationPending"
	DeletionUnderWay    = "deletionUnderWay" // of a group
	RegionUnlisted      = "regionUnlisted"   // in a subscription
)

// Further reasons, which concern an ID or the scopes that it lies in.
const (
	GroupMoveUnderWay    = "groupMoveUnderWay" // from its group, or to it
	FenceStands          = "fenceStands"
	ErasureUnderWay      = "erasureUnderWay"      // of a deleted subscription
	NoticePending        = "noticePending"        // an endpoint is not notified of the subscription
	RegistrationUnderWay = "registrationUnderWay" // or its end
	OperationPolled      = "operationPolled"      // the work behind a polling URL
	EventsUndelivered    = "eventsUndelivered"    // a sink has not got its last events
	RegionGone           = "regionGone"           // the map no longer has the region of its row
)

// Waiting is something that is under way or stands, such as a write, an operation, a
// verification, a deletion or a fence.
type Waiting struct {
	// writeUnderWay, writeWithoutAnswer, moveUnderWay, operationFollowed, verificationPending,
	// deletionUnderWay, regionUnlisted or, of one ID, a further one
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// On is the ID that it is about, if that is not the requested one but a scope that
	// the requested ID lies in.
	On     string `json:"on,omitempty"`
	Kind   string `json:"kind,omitempty"`   // of the write
	Region string `json:"region,omitempty"` // of the write
	// Job is the job that works on it.
	Job         string `json:"job,omitempty"`
	Attempts    int64  `json:"attempts,omitempty"` // since one last went well
	LastOutcome string `json:"lastOutcome,omitempty"`
	// WaitingFor names the regions that the job waits for because they do not answer.
	WaitingFor []string `json:"waitingFor,omitempty"`
	// Progress is the job's progress, in the form of its kind.
	Progress json.RawMessage `json:"progress,omitempty"`
	Since    time.Time       `json:"since"`
	// Until is when it ends by time. For an operation it is the time after which Portico
	// polls only every index.followRecheck.
	Until *time.Time `json:"until,omitempty"`
	Next  *time.Time `json:"next,omitempty"` // attempt; none while one is made
	// Command is the command that shows more of it or moves it on; "" if only time helps.
	Command string `json:"command,omitempty"`
}

// Text describes it in sentences: what waits, until when, and how it went last.
func (w Waiting) Text() string {
	said := w.Message
	if w.Until != nil {
		said += " Until " + Stamp(*w.Until) + "."
	}
	if w.Next != nil {
		said += " Next try " + Stamp(*w.Next) + "."
	}
	if w.Attempts > 1 {
		said += fmt.Sprintf(" Attempts: %d.", w.Attempts)
	}
	if w.LastOutcome != "" {
		said += " Last: " + w.LastOutcome
	}
	return said
}

// Stamp formats a time for a sentence.
func Stamp(at time.Time) string { return at.UTC().Format("2006-01-02 15:04:05Z") }

var fenceOperations = []Operation{
	{Method: http.MethodGet, Path: "/admin/fences", Summary: "The fences of all subscriptions.", Query: paging, Answer: Page[Fence]{}, Status: http.StatusOK},
}

// Fence keeps a resource from being created under an ID while a write without an answer
// may land there.
type Fence struct {
	ID           string    `json:"id"` // of the resource
	Subscription string    `json:"subscription"`
	Region       string    `json:"region"`
	Kind         string    `json:"kind"` // of the write without an answer
	Reason       string    `json:"reason"`
	Since        time.Time `json:"since"`
	Until        time.Time `json:"until"`
}
