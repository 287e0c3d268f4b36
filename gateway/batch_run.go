package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"portico/arm"
	"portico/limits"
)

// batchRun carries requests of a batch, several at a time, within what its
// answers may take of memory.
type batchRun struct {
	gateway  *Gateway
	caller   *batchCaller
	requests []batchedRequest
	todo     []int // of the requests
	share    memoryReservation
	// keeps: answers stay in memory until the share is closed; else room is what
	// those that end may take elsewhere.
	keeps bool
	room  int64
	// patience is how long memory is waited for, if that is longer than memoryWait.
	patience time.Duration
	// admit tells why a request is not to be sent, before anything is done for it;
	// nil, like its nil, allows all.
	admit func() (*arm.Error, error)
	// begin is asked before a request that may change something; false: it is
	// not to be sent. nil allows everything.
	begin func(i int) (bool, error)
	// end is given each answer; it is called for several at a time.
	end func(i int, answer []byte) error
	// apart makes the context of one request, nil that of all.
	apart func(ctx context.Context, q *batchedRequest) (context.Context, context.CancelFunc)
}

// memoryReservation is a [limits.Reservation].
type memoryReservation interface {
	Grow(ctx context.Context, n int64) error
	Shrink(n int64)
}

// memoryWait is how long a batch waits for memory before its first request.
const memoryWait = 10 * time.Second

// carried is what became of one request: the bytes of its answer.
type carried struct {
	size int64
	err  error
}

// carry carries what is to do. It ends when nothing of it is under way: also
// early, by an error, or by the end of ctx.
func (b *batchRun) carry(ctx context.Context) error {
	most := b.gateway.config.Limits.AnswerBody
	finished := make(chan carried)
	running := 0
	var failure error
	await := func() {
		c := <-finished
		running--
		if failure == nil {
			failure = c.err
		}
		b.room += most - c.size
		if b.keeps {
			b.share.Shrink(most - min(c.size, most))
		} else {
			b.share.Shrink(most)
		}
	}
	for _, i := range b.todo {
		for running == b.gateway.config.Batch.AtOnce {
			await()
		}
		refusal := b.reserve(ctx, most)
		for refusal != nil && running > 0 && failure == nil && ctx.Err() == nil {
			await()
			refusal = b.reserve(ctx, most)
		}
		if failure == nil {
			failure = ctx.Err()
		}
		if failure == nil && refusal != nil {
			failure = b.end(i, refusalOf(b.requests[i].Name, b.caller, refusal))
			continue
		}
		if failure != nil {
			if refusal == nil {
				b.unreserve(most)
			}
			break
		}
		running++
		go func() { finished <- b.one(ctx, i) }()
	}
	for running > 0 {
		await()
	}
	return failure
}

// reserve takes what an answer may need, or tells why its request is not sent.
func (b *batchRun) reserve(ctx context.Context, most int64) *arm.Error {
	full := "there is no room for its answer beside those of the others; it was not sent"
	if !b.keeps && b.room < most {
		return unsent(arm.ServerBusy, full)
	}
	waiting, cancel := context.WithTimeout(ctx, max(memoryWait, b.patience))
	defer cancel()
	switch err := b.share.Grow(waiting, most); {
	case errors.Is(err, limits.ErrCallerShare):
		return unsent(arm.TooManyRequests, "the answers in other batches of this caller hold all the memory that one caller may have for them; it was not sent")
	case err != nil:
		return unsent(arm.ServerBusy, full)
	}
	b.room -= most
	return nil
}

func (b *batchRun) unreserve(most int64) {
	b.share.Shrink(most)
	b.room += most
}

func unsent(code arm.Code, why string) *arm.Error {
	fault := arm.NewError(code, why)
	fault.RetryAfter = batchRetry
	return fault
}

// one carries one request. A panic in it is an error of the batch.
func (b *batchRun) one(ctx context.Context, i int) (c carried) {
	if p := limits.CatchPanic(func() { c = b.send(ctx, i) }); p != nil {
		return carried{err: p}
	}
	return c
}

// admitted tells why a request is not to be sent. Whoever is no caller any more
// has nothing sent.
func (b *batchRun) admitted() (*arm.Error, error) {
	if !(*b.gateway.current.Load()).Valid(b.caller.Principal) {
		return arm.NewError(arm.InvalidAuthenticationToken).
			Saying("The access token by which the batch was sent is no longer accepted; the request was not sent."), nil
	}
	if b.admit == nil {
		return nil, nil
	}
	return b.admit()
}

func (b *batchRun) send(ctx context.Context, i int) carried {
	q := &b.requests[i]
	refusal, err := b.admitted()
	if err != nil {
		return carried{err: err}
	}
	if refusal != nil {
		answer := refusalOf(q.Name, b.caller, refusal)
		return carried{size: int64(len(answer)), err: b.end(i, answer)}
	}
	if b.begin != nil && !q.reads() {
		first, err := b.begin(i)
		if err != nil || !first {
			return carried{err: err}
		}
	}
	if b.apart != nil {
		var cancel context.CancelFunc
		ctx, cancel = b.apart(ctx, q)
		defer cancel()
	}
	answer, status := b.gateway.carryBatched(ctx, b.caller, q)
	if ctx.Err() != nil && status == arm.StatusClientClosed {
		return carried{err: fmt.Errorf("a request of a batch was given up: %w", ctx.Err())}
	}
	return carried{size: int64(len(answer)), err: b.end(i, answer)}
}
