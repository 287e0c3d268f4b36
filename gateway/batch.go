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
	"portico/gateway/exchange"
	"portico/inventory"
)

// batch answers many requests in one. Each goes the whole way of a request of
// its own, as the caller of the batch and under its correlation id; its failure
// is its own answer's status. A few are answered at once, in their order; more
// are carried later, and the caller polls for the answers.
func (g *Gateway) batch(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, c ownCall) error {
	if x.Batched {
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
	share := g.batchMemory.Reservation(x.Caller(), g.config.Batch.Memory)
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
	sendBatch(r.Context(), w, x, len(answers), size, func() ([]byte, error) {
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
func sendBatch(ctx context.Context, w http.ResponseWriter, x *exchange.Exchange, answers, size int, next func() ([]byte, error)) {
	x.SendJSON(ctx, w, int64(size), func(w io.Writer) error {
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
func (g *Gateway) acceptBatch(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, caller *batchCaller, content []byte) error {
	id := uuid.NewString() // appears nowhere but in the URL
	order, err := batchOrder(caller, content)
	if err != nil {
		return err
	}
	err = g.store.BeginRequestBatch(r.Context(), order, inventory.Operation{
		Token: ownToken(id), Method: http.MethodPost, APIVersion: x.Request.Query.APIVersion,
		TenantID: x.Principal.TenantID, ObjectID: x.Principal.ObjectID, Until: g.store.Time().Add(g.config.Operations.Records),
	}, g.batchLimits())
	if err != nil {
		return batchRefusal(err)
	}
	g.pollHere(w.Header(), func(kind string) string {
		return fanout.PublicLink(g.public, "/"+kind+"/"+id, "api-version="+x.Request.Query.APIVersion)
	})
	return x.Answer(w, http.StatusAccepted, nil)
}

// batchLimits bound what the store keeps for batches.
func (g *Gateway) batchLimits() inventory.BatchLimits {
	b := g.config.Batch
	return inventory.BatchLimits{
		Open: b.PerCaller, Stored: int(b.Stored), TotalStored: int(b.TotalStored), Answer: int(g.config.Limits.AnswerBody),
	}
}

// batchRefusal turns the inventory's refusal of a batch into ARM's.
func batchRefusal(err error) error {
	var quota *inventory.QuotaError
	var fault *arm.Error
	switch {
	case errors.Is(err, inventory.ErrTooManyBatches):
		fault = arm.NewError(arm.TooManyRequests, "many batches of this caller are under way already")
	case !errors.As(err, &quota):
		return err
	case quota.Kind == inventory.QuotaBatches:
		fault = arm.NewError(arm.TooManyRequests, fullShare)
	default:
		fault = arm.NewError(arm.ServerBusy, fullStore)
	}
	fault.RetryAfter = batchRetry
	return fault
}

// Why the store takes no more of a batch.
const (
	fullShare = "the batches of this caller take all the storage that they may; answers that were fetched, or that are old, make room"
	fullStore = "the batches of all callers take all the storage that they may"
)

// refetch is how long the answers of a batch are kept once they were sent: the
// caller may have lost them on the way.
const refetch = 5 * time.Minute

// batchResult answers a poll of a batch by what a short one is answered with,
// once all its answers are there. To anybody but its caller it does not exist
// (async reference, Operation result rules).
func (g *Gateway) batchResult(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, c ownCall) error {
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
	sendBatch(r.Context(), w, x, len(batch.Parts), size, func() ([]byte, error) {
		answer, err := g.store.RequestAnswer(r.Context(), job.ID, next)
		next++
		return answer, err
	})
	if until := g.store.Time().Add(refetch); until.Before(batch.Until) {
		if err := g.store.FetchedRequestBatch(context.WithoutCancel(r.Context()), job.ID, until); err != nil {
			x.Warn("that the answers of a batch were fetched was not recorded; they are kept for longer", err)
		}
	}
	return nil
}
