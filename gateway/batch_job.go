package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"time"

	"portico/arm"
	"portico/failpoint"
	"portico/inventory"
	"portico/jobs"
)

// batching is the kind of durable work that carries batches which are too long
// to be answered at once. What it remembers is which requests may have been
// sent, and how each was answered; whoever takes it over sends what is left.
type batching struct{ *Gateway }

// batchProgress is what operators see of a batch.
type batchProgress struct {
	Total    int `json:"total"`
	Answered int `json:"answered"`
	Unknown  int `json:"unknown"` // sent, and nobody lives who knows the answer
}

// batchOrder is what a batch is carried by later: its caller, in one line, and
// the content as it came.
func batchOrder(caller *batchCaller, content []byte) ([]byte, error) {
	text, err := json.Marshal(caller)
	if err != nil {
		return nil, err
	}
	return append(append(text, '\n'), content...), nil
}

// callerOfOrder reads the caller, and returns the content as it came.
func callerOfOrder(order []byte) (*batchCaller, []byte, error) {
	var caller batchCaller
	line, content, _ := bytes.Cut(order, []byte("\n"))
	err := json.Unmarshal(line, &caller)
	return &caller, content, err
}

func readBatchOrder(order []byte) (*batchCaller, []batchedRequest, error) {
	caller, content, err := callerOfOrder(order)
	if err != nil {
		return nil, nil, err
	}
	requests, fault := readBatch(content, math.MaxInt)
	if fault != nil {
		return nil, nil, fault
	}
	return caller, requests, nil
}

// Caller implements jobs.Commissioned.
func (b batching) Caller(ctx context.Context, job inventory.Job) (string, error) {
	batch, err := b.store.RequestBatch(ctx, job.ID)
	if err != nil {
		return "", err
	}
	caller, _, err := callerOfOrder(batch.Content)
	if err != nil {
		return "", err
	}
	return caller.name(), nil
}

// Run implements jobs.Kind.
func (b batching) Run(ctx context.Context, claim *jobs.Claim) (jobs.Result, error) {
	batch, err := b.store.RequestBatch(ctx, claim.Job.ID)
	if errors.Is(err, inventory.ErrNotFound) { // its time was over first
		return jobs.Result{Recorded: true}, b.end(ctx, claim.Job, inventory.JobFailed, "")
	}
	if err != nil {
		return jobs.Result{}, err
	}
	caller, requests, err := readBatchOrder(batch.Content)
	if err != nil {
		return jobs.Result{Recorded: true}, errors.Join(err, b.end(ctx, claim.Job, inventory.JobFailed, ""))
	}
	run := b.runOf(ctx, claim.Job, caller, requests)
	share := b.batchMemory.Reservation(caller.name(), b.config.Batch.Memory)
	defer share.Close()
	run.share = share
	unknown, err := b.sort(run, claim.Job, batch)
	if err == nil {
		err = run.carry(ctx)
	}
	if err != nil {
		return jobs.Result{}, err
	}
	return b.conclude(ctx, claim.Job, len(requests), unknown)
}

func (b batching) end(ctx context.Context, job inventory.Job, state inventory.JobState, progress string) error {
	return b.store.EndRequestBatch(ctx, job, state, progress, b.config.Batch.AnswersKept)
}

// room tells why there is no room in the store for one more answer; nil: there is.
// What is under way already may take some of it as well: so far can a caller come
// beyond the limit.
func (b batching) room(ctx context.Context, caller *batchCaller) (*arm.Error, error) {
	limits := b.batchLimits()
	own, all, err := b.store.BatchRoom(ctx, caller.Principal.TenantID, caller.Principal.ObjectID, limits)
	switch {
	case err != nil:
		return nil, err
	case own < int64(limits.Answer):
		return unsent(arm.TooManyRequests, fullShare+"; it was not sent"), nil
	case all < int64(limits.Answer):
		return unsent(arm.ServerBusy, fullStore+"; it was not sent"), nil
	}
	return nil, nil
}

// requestLimit is the time after which a request has been answered, or never
// will be by whoever sent it.
func (b batching) requestLimit() time.Duration {
	return b.config.Upstream.CallTimeout + b.config.Index.CallMargin + 4*b.config.Index.AskTimeout
}

func (b batching) runOf(ctx context.Context, job inventory.Job, caller *batchCaller, requests []batchedRequest) *batchRun {
	return &batchRun{
		gateway: b.Gateway, caller: caller, requests: requests, room: b.config.Batch.Memory,
		patience: b.requestLimit(), // by then a request that holds some has ended
		admit:    func() (*arm.Error, error) { return b.room(ctx, caller) },
		begin:    func(i int) (bool, error) { return b.beginPart(ctx, job, i) },
		end: func(i int, answer []byte) error {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), jobs.RecordTime)
			defer cancel()
			return b.endPart(ctx, job.ID, i, answer)
		},
		// What may change something is seen to its end, so that its answer is
		// known; a read can be sent again.
		apart: func(ctx context.Context, q *batchedRequest) (context.Context, context.CancelFunc) {
			if !q.reads() {
				ctx = context.WithoutCancel(ctx)
			}
			return context.WithTimeout(ctx, b.requestLimit())
		},
	}
}

// beginPart records that a request is about to be sent.
func (b batching) beginPart(ctx context.Context, job inventory.Job, i int) (first bool, err error) {
	failpoint.Pass(failpoint.BatchBeginBefore)
	first, err = b.store.BeginRequestPart(ctx, job, i)
	failpoint.Pass(failpoint.BatchBeginAfter)
	return first, err
}

// endPart records the answer to a request.
func (b batching) endPart(ctx context.Context, job [16]byte, i int, answer []byte) error {
	failpoint.Pass(failpoint.BatchAnswerBefore)
	err := b.store.EndRequestPart(ctx, job, i, answer)
	failpoint.Pass(failpoint.BatchAnswerAfter)
	return err
}

// sort finds what is to do. What was sent by another, who has had his time, has
// an outcome that nobody knows; what was called off is not sent any more.
func (b batching) sort(run *batchRun, job inventory.Job, batch inventory.RequestBatch) (unknown int, err error) {
	now := b.store.Time()
	for i := range run.requests {
		part, begun := batch.Parts[i]
		run.room -= part.Size
		var fault *arm.Error
		switch {
		case part.Answered:
			continue
		case begun && now.Sub(part.Begun) < b.requestLimit():
			continue // conclude waits for it
		case begun:
			unknown++
			fault = arm.NewError(arm.InternalServerError).Saying("The outcome of the request is unknown: it was sent, and its answer was lost.")
		case job.State == inventory.JobCancelling:
			fault = arm.NewError(arm.OperationCanceled).Saying("The batch was canceled before this request was sent.")
		default:
			run.todo = append(run.todo, i)
			continue
		}
		if err := run.end(i, refusalOf(run.requests[i].Name, run.caller, fault)); err != nil {
			return unknown, err
		}
	}
	return unknown, nil
}

// conclude ends the batch if every request has its answer. Else it goes on when
// the first of those that another has sent has had its time.
func (b batching) conclude(ctx context.Context, job inventory.Job, total, unknown int) (jobs.Result, error) {
	batch, err := b.store.RequestBatch(ctx, job.ID)
	if err != nil {
		return jobs.Result{}, err
	}
	pause, answered := b.requestLimit(), 0
	for _, part := range batch.Parts {
		if part.Answered {
			answered++
		} else {
			pause = min(pause, part.Begun.Add(b.requestLimit()).Sub(b.store.Time()))
		}
	}
	if answered < total {
		return jobs.Result{Again: max(pause, b.config.Index.PollFloor)}, nil
	}
	progress, err := json.Marshal(map[string]batchProgress{"progress": {Total: total, Answered: answered - unknown, Unknown: unknown}})
	if err != nil {
		return jobs.Result{}, err
	}
	state := inventory.JobDone
	if job.State == inventory.JobCancelling {
		state = inventory.JobCancelled
	}
	return jobs.Result{Recorded: true}, b.end(ctx, job, state, string(progress))
}
