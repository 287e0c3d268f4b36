// Package batch answers many requests that come in one. Each is served like a request
// that came by itself, with ids of its own, by a handler that the package is given; only
// its connection and its caller are the batch's.
//
// A short batch is answered at once. A longer one becomes a durable job, since an
// accepted batch must not be lost with a process. Its requests are not jobs of their own:
// they are read from the content of the batch, and the store keeps only what a process
// needs to take the batch over. A request that may change something is marked in the
// store before it is sent, and never sent again: if its answer is lost with the process
// that sent it, the caller learns that the outcome is unknown. A read without an answer
// is sent again. The store encrypts contents and answers, and drops the contents when the
// batch has ended.
package batch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/google/uuid"

	"portico/arm"
	"portico/config"
	"portico/gateway/exchange"
	"portico/gateway/frontdoor/route"
	"portico/gateway/polling"
	"portico/inventory"
	"portico/inventory/jobrow"
	"portico/inventory/polls"
	"portico/inventory/transaction"
	"portico/limits"
)

// Options are the dependencies of [Batches].
type Options struct {
	Config *config.Config
	Store  *inventory.Store
	Memory *limits.Memory // for the answers of all batches together
	// Handler answers a request of a batch. It finds the request and its caller by [FromContext].
	Handler http.Handler
	Hosts   map[string]bool // Host values under which the front door is called
	Polls   *polling.Operations
}

// Batches answers batches. It is also the kind of durable work that serves long ones.
type Batches struct{ Options }

// New returns a handler of batches.
func New(o Options) *Batches { return &Batches{o} }

// Routes returns the routes for sending batches and for polling long ones.
func (b *Batches) Routes() []route.Route {
	return []route.Route{
		{Method: http.MethodPost, Path: "/batch", Open: "each request in it is checked by itself", Handle: b.post},
		{Method: http.MethodGet, Path: "/operationresults/{id}", Open: "only the caller of a batch can find it", Handle: b.result},
	}
}

// post answers a batch: a short one at once, its answers in the order of its requests;
// for a longer one the client polls. A request that fails has the failure as its own
// answer.
func (b *Batches) post(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	if x.Inner() {
		return arm.NewError(arm.InvalidRequestURI, "a batch cannot hold a batch")
	}
	requests, fault := Read(req.Content, b.Config.Batch.Requests)
	if fault != nil {
		return fault
	}
	caller := NewCaller(r, x)
	if len(requests) > b.Config.Batch.Immediate {
		return b.accept(w, r, x, caller, req.Content)
	}
	answers := make([][]byte, len(requests))
	memory := b.Memory.Reservation(x.Caller(), b.Config.Batch.Memory)
	defer memory.Close() // once all answers are sent
	s := sender{
		Batches: b, caller: caller, requests: requests, memory: memory, keepsAnswers: true,
		onAnswer: func(i int, answer []byte) error { answers[i] = answer; return nil },
	}
	for i := range requests {
		s.todo = append(s.todo, i)
	}
	if err := s.run(r.Context()); err != nil {
		return err
	}
	size := frameSize
	for _, answer := range answers {
		size += len(answer) + 1
	}
	next := 0
	send(r.Context(), w, x, len(answers), size, func() ([]byte, error) {
		answer := answers[next]
		next++
		return answer, nil
	})
	return nil
}

// The JSON around the answers of a batch. There is always at least one answer, and no
// comma before the first.
const (
	head      = `{"responses":[`
	tail      = `]}`
	frameSize = len(head) + len(tail) - 1
)

// send sends the answers that next returns; size is their length together with the frame.
func send(ctx context.Context, w http.ResponseWriter, x *exchange.Exchange, answers, size int, next func() ([]byte, error)) {
	x.SendJSON(ctx, w, int64(size), func(w io.Writer) error {
		before := head
		for range answers {
			answer, err := next()
			if err != nil {
				return err
			}
			if _, err := io.WriteString(w, before); err != nil {
				return err
			}
			if _, err := w.Write(answer); err != nil {
				return err
			}
			before = ","
		}
		_, err := io.WriteString(w, tail)
		return err
	})
}

// busyRetry is the time after which a caller with too many batches may try again.
const busyRetry = 15 * time.Second

// accept starts a job for a batch.
func (b *Batches) accept(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, caller *Caller, content []byte) error {
	id := uuid.NewString() // a secret: it appears only in the polling URL
	order, err := writeOrder(caller, content)
	if err != nil {
		return err
	}
	job, err := b.Store.Batches.Begin(r.Context(), order, b.Polls.Record(x, inventory.Subscription{}, id), b.limits())
	if err != nil {
		return refusalOfStore(err)
	}
	return b.Polls.Accept(w, r, x, id, job, func(ended jobrow.Job) error { return b.answer(w, r, x, ended) })
}

// limits returns the bounds of what the store keeps for batches.
func (b *Batches) limits() polls.BatchLimits {
	c := b.Config.Batch
	return polls.BatchLimits{
		Open: c.PerCaller, Stored: int(c.Stored), TotalStored: int(c.TotalStored), Answer: int(b.Config.Limits.AnswerBody),
	}
}

// refusalOfStore converts the inventory's refusal of a batch to an ARM error.
func refusalOfStore(err error) error {
	var quota *transaction.QuotaError
	switch {
	case errors.Is(err, polls.ErrTooManyBatches):
		return unsent(arm.TooManyRequests, "many batches of this caller are under way already")
	case !errors.As(err, &quota):
		return fmt.Errorf("record a batch: %w", err)
	case quota.Kind == transaction.QuotaBatches:
		return unsent(arm.TooManyRequests, fullShare)
	}
	return unsent(arm.ServerBusy, fullStore)
}

// Reasons why the store accepts no more.
const (
	fullShare = "the batches of this caller take all the storage that they may; answers that were fetched, or that are old, make room"
	fullStore = "the batches of all callers take all the storage that they may"
)

// refetchPeriod is how long the answers of a batch are kept after they were sent: the
// caller may have lost them on the way.
const refetchPeriod = 5 * time.Minute

// result answers a poll of a batch. Once all answers are there, it sends what a short
// batch would be answered. For anybody but the batch's caller the batch does not exist
// (async reference, Operation result rules).
func (b *Batches) result(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, _ route.Request) error {
	_, job, err := b.Polls.Job(r, x, inventory.Subscription{})
	switch {
	case err != nil:
		return err
	case !job.State.Ended():
		return b.Polls.Pending(w, x, job)
	}
	return b.answer(w, r, x, job)
}

// answer sends the result of a job that has ended.
func (b *Batches) answer(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, job jobrow.Job) error {
	if job.State == jobrow.Failed {
		return errors.New("the job of a batch failed")
	}
	batch, err := b.Store.Batches.Batch(r.Context(), job.ID)
	if err != nil {
		return fmt.Errorf("read a batch: %w", err)
	}
	size := frameSize
	for _, part := range batch.Parts {
		size += int(part.Size) + 1
	}
	next := 0
	send(r.Context(), w, x, len(batch.Parts), size, func() ([]byte, error) {
		answer, err := b.Store.Batches.Answer(r.Context(), job.ID, next)
		next++
		return answer, err
	})
	if until := b.Store.Now().Add(refetchPeriod); until.Before(batch.Until) {
		if err := b.Store.Batches.Shorten(context.WithoutCancel(r.Context()), job.ID, until); err != nil {
			x.Warn("could not record that the answers of a batch were fetched; they are kept for longer", err)
		}
	}
	return nil
}
