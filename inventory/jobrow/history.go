package jobrow

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"portico/arm"
	"portico/inventory/engine"
)

// HistoryEntry is an entry of a job's history: the end of an attempt, the loss of a lease, or an
// order.
type HistoryEntry struct {
	At      time.Time `json:"at"`
	Times   int       `json:"times,omitempty"` // how often it came in a row, At is the latest; 0: once
	Since   time.Time `json:"since,omitzero"`  // when the first of several came
	Replica string    `json:"replica,omitempty"` // the job's holder
	Outcome string    `json:"outcome"`           // such as again, failed, or the end of the job
	Did     string    `json:"did,omitempty"`     // the result, in a sentence
}

// Outcomes of steps other than a runner's attempts.
const (
	outcomeExpired   = "expired"   // the lease ran out before the attempt ended
	outcomeCancelled = "cancelled" // an operator or a client ordered it
	outcomeChanged   = "changed"   // an operator changed what the job works on
)

// Bounds of a job's history.
const (
	maxSteps = 50
	maxDid   = 150 // bytes

	// addStep prepends a step and cuts the text to a number of characters, so that no
	// write has to read the history.
	addStep    = `history = substr(CAST(? AS TEXT) || history, 1, 12000)`
	jobHistory = `SELECT history FROM jobs WHERE subscription = ? AND id = ?`
)

// encode returns the step's stored form, with the time now; "" for the zero Step, which is
// not recorded.
func (s HistoryEntry) encode(now time.Time) string {
	if s.Outcome == "" {
		return ""
	}
	if s.At = now; len(s.Did) > maxDid {
		s.Did = strings.ToValidUTF8(s.Did[:maxDid], "") + "…"
	}
	return PayloadOf(s) + "\n"
}

// releaseStep returns the step of a holder that releases the job.
func (j *Job) releaseStep() HistoryEntry {
	s := j.Step
	s.Replica = j.Owner
	return s
}

// endStep returns the step of a holder that ends the job in a state.
func (j *Job) endStep(state State) HistoryEntry {
	s := j.releaseStep()
	s.Outcome = strings.ToLower(state.String())
	return s
}

// expiredStep returns the step of a holder whose lease expired, the zero Step if there was
// no holder.
func (j *Job) expiredStep() HistoryEntry {
	if j.Owner == "" {
		return HistoryEntry{}
	}
	return HistoryEntry{Replica: j.Owner, Outcome: outcomeExpired}
}

// History returns the last steps of a job, the newest first; none if the job does not exist.
func (r *Jobs) History(ctx context.Context, sub string, id [16]byte) (steps []HistoryEntry, err error) {
	err = r.engine.Read(ctx).Each(func(scan engine.Scanner) error {
		var text string
		if err := scan(&text); err != nil {
			return err
		}
		steps = readSteps(text)
		return nil
	}, jobHistory, arm.Fold(sub), id[:])
	return steps, err
}

// readSteps decodes a history, without its last step if that was cut.
func readSteps(text string) (steps []HistoryEntry) {
	for line := range strings.Lines(text) {
		var s HistoryEntry
		if len(steps) == maxSteps || json.Unmarshal([]byte(line), &s) != nil {
			break
		}
		steps = append(steps, s)
	}
	return steps
}
