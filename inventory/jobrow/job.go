// Package jobrow stores jobs, pieces of durable work, as rows: it creates, claims,
// renews, ends, counts and forgets them. It knows nothing about any kind of job.
package jobrow

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"portico/arm"
	"portico/inventory/index"
)

// State is the state of a job. The numbers are stored.
type State uint8

// The states of a job. The last three are final.
const (
	// Waiting: the job has not ended. Owner may work on it, until Until.
	Waiting State = iota
	// Cancelling: the job's next attempt has to undo or end its work.
	Cancelling
	Done
	Failed
	Cancelled
)

var states = [...]string{"Waiting", "Cancelling", "Done", "Failed", "Cancelled"}

func (s State) String() string { return index.NameOf(states[:], int(s)) }

// Ended reports whether the state is final.
func (s State) Ended() bool { return s >= Done }

// Job is a piece of work that outlives the process that created it. Any replica may claim
// it, but only one at a time holds it; the token of the latest claim identifies the holder.
type Job struct {
	Subscription string // folded; "" if the work belongs to none
	ID           [16]byte
	Kind         string // "verify", "follow", "sweep", …
	Subject      string // the object of the work: a resource's key, a subscription, …
	// Region is the region that the work depends on; empty if there is no single one.
	Region string
	// Incarnation is random. A job that is created again under the same ID has another
	// one.
	Incarnation [16]byte
	State       State
	Due         time.Time // when it may be claimed; for a claimed job the end of the lease
	Owner       string    // the replica that holds it
	Token       int64     // raised by every claim; every update checks it
	Until       time.Time // end of the lease
	// Attempts counts the claims since the last success. A claim raises it; the holder
	// sets it by Defer.
	Attempts int64
	// Payload is JSON in a form of the job's kind. Operators see only its member
	// progress.
	Payload string
	Created time.Time
	Changed time.Time // by a claim, progress, or an end
	// Trace is the span that created the job, in the form of [spans.Span.Parent]; "" if
	// the span was not sampled.
	Trace string
	// Step is the step that Defer or an end adds to the job's history; they set its
	// time, its replica and the outcome of an end. It is never read from the store.
	Step HistoryEntry

	newest string // begins with the newest line of its history, as it was read
}

var (
	// ErrLeaseLost refuses an update by a caller that no longer holds the job: it was
	// claimed by another replica, cancelled, recreated, or has ended.
	ErrLeaseLost = errors.New("inventory: the job is held by another")

	// ErrEnded refuses to cancel a job that has ended.
	ErrEnded = errors.New("inventory: the job has ended")
)

// ID returns the ID of the only job of a kind on a subject.
func ID(kind, subject string) (id [16]byte) {
	sum := sha256.Sum256([]byte(kind + "\x00" + subject))
	copy(id[:], sum[:])
	return id
}

// Name returns the job's public name: its subscription, or "-", and its ID. It may be
// called while the job's payload is being saved.
func (j *Job) Name() string {
	sub := j.Subscription
	if sub == "" {
		sub = "-"
	}
	return sub + "." + hex.EncodeToString(j.ID[:])
}

// PayloadOf encodes a kind's payload for storage. The payload must have a JSON form.
func PayloadOf(kept any) string {
	text, err := json.Marshal(kept)
	if err != nil {
		return "{}"
	}
	return string(text)
}

// Read decodes the payload.
func (j Job) Read(into any) error {
	if err := json.Unmarshal([]byte(j.Payload), into); err != nil {
		return fmt.Errorf("inventory: the payload of %s: %w", j.Name(), err)
	}
	return nil
}

// ParseName returns the subscription and the ID of a job, given its Job.Name.
func ParseName(name string) (sub string, id [16]byte, err error) {
	sub, text, found := strings.Cut(name, ".")
	raw, err := hex.DecodeString(text)
	if !found || err != nil || len(raw) != len(id) || sub == "" {
		return "", id, fmt.Errorf("inventory: %q is no name of a job", name)
	}
	copy(id[:], raw)
	if sub == "-" {
		sub = ""
	}
	return arm.Fold(sub), id, nil
}
