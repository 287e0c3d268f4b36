package batch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"portico/arm"
	"portico/config"
	"portico/internal/failpoint"
	"portico/inventory"
	"portico/inventory/jobrow"
	"portico/inventory/polls"
	"portico/jobs"
)

// A long batch is served by a job. The job remembers which requests may have been sent,
// and how each was answered; a process that takes it over sends the rest.

// progress is what operators see of a batch.
type progress struct {
	Total    int `json:"total"`
	Answered int `json:"answered"`
	Unknown  int `json:"unknown"` // sent, but the answer was lost
}

// writeOrder returns what the job of a batch needs: the caller as one line of JSON, then
// the content unchanged.
func writeOrder(caller *Caller, content []byte) ([]byte, error) {
	text, err := json.Marshal(caller)
	if err != nil {
		return nil, err
	}
	return append(append(text, '\n'), content...), nil
}

// readCaller returns the caller and the content of an order.
func readCaller(order []byte) (*Caller, []byte, error) {
	var caller Caller
	line, content, _ := bytes.Cut(order, []byte("\n"))
	err := json.Unmarshal(line, &caller)
	return &caller, content, err
}

func readOrder(order []byte) (*Caller, []Request, error) {
	caller, content, err := readCaller(order)
	if err != nil {
		return nil, nil, err
	}
	requests, fault := Read(content, math.MaxInt)
	if fault != nil {
		return nil, nil, fault
	}
	return caller, requests, nil
}

// Caller returns the name of the caller of a job's batch, whose share of such work it
// uses.
func (b *Batches) Caller(ctx context.Context, job jobrow.Job) (string, error) {
	batch, err := b.Store.Batches.Batch(ctx, job.ID)
	if err != nil {
		return "", fmt.Errorf("read a batch: %w", err)
	}
	caller, _, err := readCaller(batch.Content)
	if err != nil {
		return "", err
	}
	return caller.name(), nil
}

// Describe implements [jobs.Kind].
func (b *Batches) Describe() jobs.Description {
	return jobs.Description{Cancellable: true, AfterRestore: jobs.Cancelled, Show: func(j jobrow.Job) jobs.ProgressReport {
		var p struct{ Progress progress }
		_ = j.Read(&p) // it has none before it has ended
		return jobs.ProgressReport{Done: p.Progress.Answered, Of: p.Progress.Total}
	}}
}

// Run implements jobs.Kind.
func (b *Batches) Run(ctx context.Context, claim *jobs.Claim) (jobs.Result, error) {
	batch, err := b.Store.Batches.Batch(ctx, claim.Job.ID)
	if errors.Is(err, inventory.ErrNotFound) { // its time was over first
		return jobs.Result{Recorded: true}, b.endJob(ctx, claim.Job, jobrow.Failed, "")
	}
	if err != nil {
		return jobs.Result{}, fmt.Errorf("read the batch of a job: %w", err)
	}
	caller, requests, err := readOrder(batch.Content)
	if err != nil {
		return jobs.Result{Recorded: true}, errors.Join(err, b.endJob(ctx, claim.Job, jobrow.Failed, ""))
	}
	s := b.newSender(ctx, claim.Job, caller, requests)
	memory := b.Memory.Reservation(caller.name(), b.Config.Batch.Memory)
	defer memory.Close()
	s.memory = memory
	err = b.plan(s, claim.Job, batch)
	if err == nil {
		err = s.run(ctx)
	}
	if err != nil {
		return jobs.Result{}, err
	}
	return b.conclude(ctx, claim.Job, len(requests))
}

func (b *Batches) endJob(ctx context.Context, job jobrow.Job, state jobrow.State, progress string) error {
	return b.Store.Batches.End(ctx, job, state, progress, b.Config.Batch.AnswersKept)
}

// checkRoom refuses a further answer if the store has no room for it. Requests under way
// may use that room too, so a caller can exceed the limit by their answers.
func (b *Batches) checkRoom(ctx context.Context, caller *Caller) (*arm.Error, error) {
	limits := b.limits()
	own, all, err := b.Store.Batches.Room(ctx, caller.Principal.TenantID, caller.Principal.ObjectID, limits)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the room for answers of batches: %w", err)
	case own < int64(limits.Answer):
		return unsent(arm.TooManyRequests, fullShare+"; it was not sent"), nil
	case all < int64(limits.Answer):
		return unsent(arm.ServerBusy, fullStore+"; it was not sent"), nil
	}
	return nil, nil
}

// RequestLimit is the time after which a request has either been answered, or never will
// be by the process that sent it.
func RequestLimit(c *config.Config) time.Duration {
	return c.Upstream.CallTimeout + c.Index.CallMargin + 4*c.Index.AskTimeout
}

func (b *Batches) newSender(ctx context.Context, job jobrow.Job, caller *Caller, requests []Request) *sender {
	return &sender{
		Batches: b, caller: caller, requests: requests, room: b.Config.Batch.Memory,
		memoryTimeout: RequestLimit(b.Config), // by then a request that holds memory has ended
		admitRequest:  func() (*arm.Error, error) { return b.checkRoom(ctx, caller) },
		markStarted:   func(i int) (bool, error) { return b.beginPart(ctx, job, i) },
		onAnswer: func(i int, answer []byte) error {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), jobs.RecordTime)
			defer cancel()
			return b.recordAnswer(ctx, job.ID, i, answer)
		},
		// A request that may change something runs to its end, so that its answer is
		// known; a read can be sent again.
		requestContext: func(ctx context.Context, q *Request) (context.Context, context.CancelFunc) {
			if !q.Reads() {
				ctx = context.WithoutCancel(ctx)
			}
			return context.WithTimeout(ctx, RequestLimit(b.Config))
		},
	}
}

// beginPart records that a request is about to be sent.
func (b *Batches) beginPart(ctx context.Context, job jobrow.Job, i int) (first bool, err error) {
	failpoint.Pass(failpoint.BatchBeginBefore)
	first, err = b.Store.Batches.BeginPart(ctx, job, i)
	failpoint.Pass(failpoint.BatchBeginAfter)
	if err != nil {
		return first, fmt.Errorf("record that a request of a batch is sent: %w", err)
	}
	return first, nil
}

func (b *Batches) recordAnswer(ctx context.Context, job [16]byte, i int, answer []byte) error {
	failpoint.Pass(failpoint.BatchAnswerBefore)
	err := b.Store.Batches.EndPart(ctx, job, i, answer)
	failpoint.Pass(failpoint.BatchAnswerAfter)
	if err != nil {
		return fmt.Errorf("record the answer to a request of a batch: %w", err)
	}
	return nil
}

// plan lists the requests to be sent, and answers the others: if another process sent a
// request and its time is over, the outcome is unknown; in a cancelled batch nothing more
// is sent.
func (b *Batches) plan(s *sender, job jobrow.Job, batch polls.Batch) error {
	now := b.Store.Now()
	for i := range s.requests {
		part, started := batch.Parts[i]
		s.room -= part.Size
		var fault *arm.Error
		switch {
		case part.Answered:
			continue
		case started && now.Sub(part.Started) < RequestLimit(b.Config):
			continue // conclude waits for it
		case started:
			fault = arm.NewError(arm.InternalServerError).WithMessage("The outcome of the request is unknown: it was sent, and its answer was lost.")
		case job.State == jobrow.Cancelling:
			fault = arm.NewError(arm.OperationCanceled).WithMessage("The batch was canceled before this request was sent.")
		default:
			s.todo = append(s.todo, i)
			continue
		}
		if err := s.onAnswer(i, encodeError(s.requests[i].Name, s.caller, fault)); err != nil {
			return err
		}
	}
	return nil
}

// conclude ends the batch if every request has its answer. Otherwise the job continues
// when the first request sent by another process is out of time. An answer counts as lost
// by its times, as the process that gave it up may have died since.
func (b *Batches) conclude(ctx context.Context, job jobrow.Job, total int) (jobs.Result, error) {
	batch, err := b.Store.Batches.Batch(ctx, job.ID)
	if err != nil {
		return jobs.Result{}, fmt.Errorf("read an answered batch: %w", err)
	}
	pause, answered, unknown := RequestLimit(b.Config), 0, 0
	for _, part := range batch.Parts {
		switch {
		case !part.Answered:
			pause = min(pause, part.Started.Add(RequestLimit(b.Config)).Sub(b.Store.Now()))
		case part.Ended.Sub(part.Started) >= RequestLimit(b.Config):
			unknown++
		default:
			answered++
		}
	}
	if answered+unknown < total {
		return jobs.Result{Again: max(pause, b.Config.Index.PollFloor)}, nil
	}
	progress, err := json.Marshal(map[string]progress{"progress": {Total: total, Answered: answered, Unknown: unknown}})
	if err != nil {
		return jobs.Result{}, err
	}
	state := jobrow.Done
	if job.State == jobrow.Cancelling {
		state = jobrow.Cancelled
	}
	return jobs.Result{Recorded: true}, b.endJob(ctx, job, state, string(progress))
}
