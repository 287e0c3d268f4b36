package jobrow

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"portico/arm"
	"portico/inventory/engine"
)

// Step is a step of a job: an attempt that ended, a lease that ran out, an order.
type Step struct {
	At      time.Time `json:"at"`
	Replica string    `json:"replica,omitempty"` // whose step it was
	Outcome string    `json:"outcome"`           // such as again, failed, or the end of the job
	Did     string    `json:"did,omitempty"`     // what came of it, a sentence
}

// Outcomes of steps that are no attempts of a runner.
const (
	outcomeExpired   = "expired"   // the lease ran out before the attempt ended
	outcomeCancelled = "cancelled" // an operator or a client ordered it
	outcomeChanged   = "changed"   // an operator changed what the job works on
)

// Bounds of a job's history.
const (
	mostSteps = 50
	mostDid   = 150 // bytes

	// addStep adds a step before the others and cuts what is beyond so many characters, so
	// that no write has to read them.
	addStep    = `history = substr(CAST(? AS TEXT) || history, 1, 12000)`
	jobHistory = `SELECT history FROM jobs WHERE subscription = ? AND id = ?`
)

// line returns the step as it is stored; "" for the zero Step, which is not recorded.
func (s Step) line(now time.Time) string {
	if s.Outcome == "" {
		return ""
	}
	if s.At = now; len(s.Did) > mostDid {
		s.Did = strings.ToValidUTF8(s.Did[:mostDid], "") + "…"
	}
	return PayloadOf(s) + "\n"
}

// attempted is the step of a holder that releases the job.
func (j *Job) attempted() Step {
	s := j.Step
	s.Replica = j.Owner
	return s
}

// ended is the step of a holder that ends the job in a state.
func (j *Job) ended(state State) Step {
	s := j.attempted()
	s.Outcome = strings.ToLower(state.String())
	return s
}

// expired is the step of a holder whose lease ran out; the zero Step if there was none.
func (j *Job) expired() Step {
	if j.Owner == "" {
		return Step{}
	}
	return Step{Replica: j.Owner, Outcome: outcomeExpired}
}

// History lists the last steps of a job, the newest first; none if there is no such job.
func (r *Rows) History(ctx context.Context, sub string, id [16]byte) (steps []Step, err error) {
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

// readSteps leaves out a step that was cut.
func readSteps(text string) (steps []Step) {
	for line := range strings.Lines(text) {
		var s Step
		if len(steps) == mostSteps || json.Unmarshal([]byte(line), &s) != nil {
			break
		}
		steps = append(steps, s)
	}
	return steps
}
