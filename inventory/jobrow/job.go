// Package jobrow keeps jobs, pieces of durable work, as rows: it creates, claims,
// renews, ends, counts and forgets them. It does not know what any kind of job does.
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

// The states of a job. The last three are ends.
const (
	// Waiting: also while Owner works on it, until Until.
	Waiting State = iota
	// Cancelling: its next attempt has to undo or end it.
	Cancelling
	Done
	Failed
	Cancelled
)

var states = [...]string{"Waiting", "Cancelling", "Done", "Failed", "Cancelled"}

func (s State) String() string { return index.NameOf(states[:], int(s)) }

// Ended reports whether the state is final.
func (s State) Ended() bool { return s >= Done }

// Job is a piece of work that outlives the process that created it. Any replica may
// claim it, one at a time; the token of the latest claim identifies its holder.
type Job struct {
	Subscription string // folded; "" for work that concerns all
	ID           [16]byte
	Kind         string // "verify", "follow", "sweep", …
	Subject      string // what it works on: a resource's key, a subscription, …
	// Region is the region whose answers the work depends on; empty: no single one.
	Region string
	// Incarnation is random and new for every job, also for one that is created again
	// under the ID of an earlier one.
	Incarnation [16]byte
	State       State
	Due         time.Time // not to be begun before; when it was claimed: the end of the lease
	Owner       string    // the replica that holds it
	Token       int64     // raised by every claim; every update names it
	Until       time.Time // end of the lease
	// Attempts counts the claims since the last success, as the holder passes it to
	// DeferJob.
	Attempts int64
	// Payload is JSON in the form of the job's kind. Operators see only its member
	// progress.
	Payload string
	Created time.Time
	Changed time.Time // by a claim, progress, or an end
	// Trace is the span that created the job, as [spans.Span.Parent] writes it; "" if
	// that was not sampled.
	Trace string
	// Step is what a holder adds to the job's history, by DeferJob or an end. The time, the
	// replica and the outcome of an end are added to it. It is never read.
	Step Step
}

var (
	// ErrLeaseLost refuses an update by a caller that no longer holds the job: another
	// has claimed it, it was cancelled, recreated, or has ended.
	ErrLeaseLost = errors.New("inventory: the job is held by another")

	// ErrEnded refuses to cancel a job that has ended.
	ErrEnded = errors.New("inventory: the job has ended")
)

// ID is the ID of the one job of a kind on a subject.
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

// PayloadOf encodes a kind's payload for storage. Every payload has a JSON form.
func PayloadOf(kept any) string {
	text, err := json.Marshal(kept)
	if err != nil {
		return "{}"
	}
	return string(text)
}

// Read decodes the payload into its kind's value.
func (j Job) Read(into any) error {
	if err := json.Unmarshal([]byte(j.Payload), into); err != nil {
		return fmt.Errorf("inventory: the payload of %s: %w", j.Name(), err)
	}
	return nil
}

// ParseName is the inverse of Job.Name.
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
