package gateway

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/google/uuid"

	"portico/arm"
	"portico/fanout"
	"portico/inventory"
)

// batch answers many requests in one. Each goes the whole way of a request of
// its own, as the caller of the batch and under its correlation id; its failure
// is its own answer's status. A few are answered at once, in their order; more
// are carried later, and the caller polls for the answers.
func (g *Gateway) batch(w http.ResponseWriter, r *http.Request, x *exchange, c ownCall) error {
	if callerOf(r.Context()) != nil {
		return arm.NewError(arm.InvalidRequestURI, "a batch cannot hold a batch")
	}
	requests, fault := readBatch(c.content, g.config.Batch.Requests)
	if fault != nil {
		return fault
	}
	caller := newBatchCaller(r, x)
	if len(requests) > g.config.Batch.Immediate {
		return g.acceptBatch(w, r, x, caller, c.content)
	}
	answers := make([][]byte, len(requests))
	share := g.batchMemory.Share(x.caller(), g.config.Batch.Memory)
	defer share.Close() // when all is sent
	run := batchRun{
		gateway: g, caller: caller, requests: requests, share: share, keeps: true,
		end: func(i int, answer []byte) error { answers[i] = answer; return nil },
	}
	for i := range requests {
		run.todo = append(run.todo, i)
	}
	if err := run.carry(r.Context()); err != nil {
		return err
	}
	size := batchFrame
	for _, answer := range answers {
		size += len(answer) + 1
	}
	next := 0
	g.sendBatch(r.Context(), w, x, len(answers), size, func() ([]byte, error) {
		answer := answers[next]
		next++
		return answer, nil
	})
	return nil
}

// What stands around the answers of a batch, of which there is always one, and
// no comma before the first.
const (
	batchHead  = `{"responses":[`
	batchTail  = `]}`
	batchFrame = len(batchHead) + len(batchTail) - 1
)

// sendBatch sends so many answers of a batch, size bytes together with what
// stands around them.
func (g *Gateway) sendBatch(ctx context.Context, w http.ResponseWriter, x *exchange, answers, size int, next func() ([]byte, error)) {
	g.ownHeaders(w.Header(), x)
	g.sendTimed(ctx, w, x, int64(size), func(w io.Writer) error {
		head := batchHead
		for range answers {
			answer, err := next()
			if err != nil {
				return err
			}
			if _, err := io.WriteString(w, head); err != nil {
				return err
			}
			if _, err := w.Write(answer); err != nil {
				return err
			}
			head = ","
		}
		_, err := io.WriteString(w, batchTail)
		return err
	})
}

// batchRetry is when a caller may come again who has too many batches under way.
const batchRetry = 15 * time.Second

// acceptBatch has a batch carried by a job.
func (g *Gateway) acceptBatch(w http.ResponseWriter, r *http.Request, x *exchange, caller *batchCaller, content []byte) error {
	id := uuid.NewString() // appears nowhere but in the URL
	order, err := batchOrder(caller, content)
	if err != nil {
		return err
	}
	err = g.store.BeginRequestBatch(r.Context(), order, inventory.Operation{
		Token: ownToken(id), Method: http.MethodPost, APIVersion: x.request.Query.APIVersion,
		TenantID: x.principal.TenantID, ObjectID: x.principal.ObjectID, Until: g.store.Time().Add(g.config.Operations.Records),
	}, g.config.Batch.PerCaller)
	if errors.Is(err, inventory.ErrTooManyBatches) {
		fault := arm.NewError(arm.TooManyRequests, "many batches of this caller are under way already")
		fault.RetryAfter = batchRetry
		return fault
	}
	if err != nil {
		return err
	}
	g.pollHere(w.Header(), func(kind string) string {
		return fanout.PublicLink(g.public, "/"+kind+"/"+id, "api-version="+x.request.Query.APIVersion)
	})
	return g.answer(w, x, http.StatusAccepted, nil)
}

// batchResult answers a poll of a batch by what a short one is answered with,
// once all its answers are there. To anybody but its caller it does not exist
// (async reference, Operation result rules).
func (g *Gateway) batchResult(w http.ResponseWriter, r *http.Request, x *exchange, c ownCall) error {
	_, job, err := g.callersJob(r, x, c)
	switch {
	case err != nil:
		return err
	case !job.State.Ended():
		return g.notEnded(w, x)
	case job.State == inventory.JobFailed:
		return errors.New("a batch could not be carried")
	}
	batch, err := g.store.RequestBatch(r.Context(), job.ID)
	if err != nil {
		return err
	}
	size := batchFrame
	for _, part := range batch.Parts {
		size += int(part.Size) + 1
	}
	next := 0
	g.sendBatch(r.Context(), w, x, len(batch.Parts), size, func() ([]byte, error) {
		answer, err := g.store.RequestAnswer(r.Context(), job.ID, next)
		next++
		return answer, err
	})
	return nil
}
