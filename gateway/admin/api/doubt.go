package api

import (
	"encoding/json"
	"net/http"
	"time"
)

var doubtOperations = []Operation{
	{
		Method: http.MethodGet, Path: "/admin/doubts", Summary: "The resources that the index is not sure of just now. A page that is not full may have a next one.",
		Query:  append([]Parameter{{"subscription", "only those of this subscription"}}, paging...),
		Answer: Page[Doubt]{}, Status: http.StatusOK,
	},
}

// Doubt is a resource that the index is not sure of.
type Doubt struct {
	ID     string `json:"id"`
	Region string `json:"region"`
	// Phase is that of the row; none where there is no row.
	Phase string    `json:"phase,omitempty"`
	Flags []string  `json:"flags"` // of the row: verify, followPut, followDelete, followPatch
	Why   []Waiting `json:"why"`
	// Until is when the last open write ends by time; an answer that the provider gives
	// later is proof. None where something else has to end as well, or no write is open.
	Until *time.Time `json:"until,omitempty"`
}

// Reasons for which something waits.
const (
	WriteUnderWay       = "writeUnderWay"
	WriteWithoutAnswer  = "writeWithoutAnswer"
	MoveUnderWay        = "moveUnderWay"
	OperationFollowed   = "operationFollowed"
	VerificationPending = "verificationPending"
	DeletionUnderWay    = "deletionUnderWay" // of a group
)

// Further reasons, of what an ID lies in and of what concerns it.
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
	Reason  string `json:"reason"` // writeUnderWay, writeWithoutAnswer, moveUnderWay, operationFollowed, verificationPending, deletionUnderWay or, of one ID, a further one
	Message string `json:"message"`
	// On is the ID of what it is about, where that is another than the one that was asked
	// for: what it lies in.
	On     string `json:"on,omitempty"`
	Kind   string `json:"kind,omitempty"`   // of the write
	Region string `json:"region,omitempty"` // of the write
	// Job is the one that works on it.
	Job         string `json:"job,omitempty"`
	Attempts    int64  `json:"attempts,omitempty"` // since one last went well
	LastOutcome string `json:"lastOutcome,omitempty"`
	// Progress is that of the job, in a form of its kind's own.
	Progress json.RawMessage `json:"progress,omitempty"`
	Since    time.Time       `json:"since"`
	// Until is when it ends by time; of an operation, from when on it is asked for only each
	// index.followRecheck.
	Until *time.Time `json:"until,omitempty"`
	Next  *time.Time `json:"next,omitempty"` // attempt; none while one is made
	// Command is the one that tells more of it or has it go on, "" where time alone helps.
	Command string `json:"command,omitempty"`
}

var fenceOperations = []Operation{
	{Method: http.MethodGet, Path: "/admin/fences", Summary: "The fences of all subscriptions.", Query: paging, Answer: Page[Fence]{}, Status: http.StatusOK},
}

// Fence keeps an ID from being made anew while a write without an answer may land there.
type Fence struct {
	ID           string    `json:"id"` // of the resource
	Subscription string    `json:"subscription"`
	Region       string    `json:"region"`
	Kind         string    `json:"kind"` // of the write without an answer
	Reason       string    `json:"reason"`
	Since        time.Time `json:"since"`
	Until        time.Time `json:"until"`
}
