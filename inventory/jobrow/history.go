package jobrow

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"portico/arm"
	"portico/inventory/engine"
)

// HistoryEntry is an entry of a job's history: the end of an attempt, the loss of a lease, or an
// order.
type HistoryEntry struct {
	At      time.Time `json:"at"`
	Times   int       `json:"times,omitempty"`   // how often it came in a row, At is the latest; 0: once
	Since   time.Time `json:"since,omitzero"`    // when the first of several came
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

	// addStep prepends a step to the history from a character on, and cuts the text to a
	// number of characters, so that no write has to read the history.
	addStep    = `history = substr(CAST(? AS TEXT) || substr(history, ?), 1, 12000)`
	jobHistory = `SELECT history FROM jobs WHERE subscription = ? AND id = ?`
)

// after returns the arguments of addStep that record the step now; the zero step is not
// recorded. If it repeats the newest step of the history, it replaces that step and counts
// both: what repeats for days must not push out what came before.
func (s HistoryEntry) after(newest string, now time.Time) []any {
	if s.Outcome == "" {
		return []any{"", 1}
	}
	if s.At, s.Did = now, strings.ToValidUTF8(s.Did, ""); len(s.Did) > maxDid {
		s.Did = strings.ToValidUTF8(s.Did[:maxDid], "") + "…"
	}
	from := 1
	line, _, whole := strings.Cut(newest, "\n")
	if last := readSteps(line); whole && len(last) > 0 && last[0].Outcome == s.Outcome && last[0].Did == s.Did {
		s.Times, s.Since = max(last[0].Times, 1)+1, last[0].Since
		if s.Since.IsZero() {
			s.Since = last[0].At
		}
		from += utf8.RuneCountInString(line) + 1
	}
	return []any{PayloadOf(s) + "\n", from}
}

// stepOf returns the step of the job's holder with an outcome, "" for that of Step; the zero
// step if there is no holder.
func (j *Job) stepOf(outcome string) HistoryEntry {
	if j.Owner == "" {
		return HistoryEntry{}
	}
	return HistoryEntry{Replica: j.Owner, Outcome: cmp.Or(outcome, j.Step.Outcome), Did: j.Step.Did}
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
