// Package jobrow keeps pieces of durable work as rows: it makes, claims, renews,
// ends, counts and forgets them. It knows what no kind of work does.
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

// State is where a piece of durable work stands. The numbers are stored.
type State uint8

// The states of a job. The last three are ends.
const (
	// Waiting: also while it is being worked on, by Owner until Until.
	Waiting State = iota
	// Cancelling: its next attempt has to undo or end it.
	Cancelling
	Done
	Failed
	Cancelled
)

var states = [...]string{"Waiting", "Cancelling", "Done", "Failed", "Cancelled"}

func (s State) String() string { return index.NameOf(states[:], int(s)) }

// Ended reports whether nothing more will be done.
func (s State) Ended() bool { return s >= Done }

// Job is a piece of work that outlives the process that began it. Any replica may
// claim it, one at a time; the token of the latest claim names its holder.
type Job struct {
	Subscription string // folded; "" for work that concerns all
	ID           [16]byte
	Kind         string // "verify", "follow", "sweep", …
	Subject      string // what it works on: a resource's key, a subscription, …
	// Region is the one whose answers the work depends on; empty: no single one.
	Region string
	// Incarnation is random and new with every job, also with one that is made
	// again under the ID of an earlier one.
	Incarnation [16]byte
	State       State
	Due         time.Time // not to be begun before; when it was claimed: the end of the lease
	Owner       string    // who holds it
	Token       int64     // raised by every claim; every update names it
	Until       time.Time // end of the lease
	// Attempts counts the claims since work on it last went well, as its holder tells
	// DeferJob.
	Attempts int64
	// Payload is JSON of the kind's own. Operators see only its member progress.
	Payload string
	Created time.Time
	Changed time.Time // by a claim, progress, or an end
	// Trace is the span that began the job, as [spans.Span.Parent] writes it; "" if that
	// was not sampled.
	Trace string
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

// Name is how a job is called outside: its subscription, or "-", and its ID. It
// may be asked for while the job's payload is saved.
func (j *Job) Name() string {
	sub := j.Subscription
	if sub == "" {
		sub = "-"
	}
	return sub + "." + hex.EncodeToString(j.ID[:])
}

// PayloadOf is what a kind keeps in a job as that stores it. All of it has a JSON
// form.
func PayloadOf(kept any) string {
	text, err := json.Marshal(kept)
	if err != nil {
		return "{}"
	}
	return string(text)
}

// Read reads the payload into what its kind keeps there.
func (j Job) Read(into any) error {
	if err := json.Unmarshal([]byte(j.Payload), into); err != nil {
		return fmt.Errorf("inventory: the payload of %s: %w", j.Name(), err)
	}
	return nil
}

// ParseName reads what Job.Name made.
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
