package batch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"portico/arm"
	"portico/limits"
)

// sending sends requests of a batch, several at a time, within the memory that its
// answers may take.
type sending struct {
	*Batches
	caller   *Caller
	requests []Request
	todo     []int // indexes of the requests to be sent
	memory   *limits.Reservation
	// keeps: answers stay in memory until it is closed. Else end stores them, and room
	// is what they may still take there.
	keeps bool
	room  int64
	// patience is how long a request waits for memory, if longer than memoryWait.
	patience time.Duration
	// admit returns why no request is to be sent now; nil allows all.
	admit func() (*arm.Error, error)
	// begin is called before a request that may change something; false: it is not to
	// be sent. nil allows all.
	begin func(i int) (bool, error)
	// end takes each answer, several at a time.
	end func(i int, answer []byte) error
	// bound makes the context of one request; nil: it is that of all.
	bound func(ctx context.Context, q *Request) (context.Context, context.CancelFunc)
}

// memoryWait is how long a batch waits for memory before its first request.
const memoryWait = 10 * time.Second

// sent is what became of one request: the bytes of its answer.
type sent struct {
	size int64
	err  error
}

// run sends what is to do. It returns when nothing is under way; an error or the end
// of ctx stops it early.
func (s *sending) run(ctx context.Context) error {
	most := s.Config.Limits.AnswerBody
	finished := make(chan sent)
	running := 0
	var failure error
	await := func() {
		c := <-finished
		running--
		if failure == nil {
			failure = c.err
		}
		s.room += most - c.size
		if s.keeps {
			s.memory.Shrink(most - min(c.size, most))
		} else {
			s.memory.Shrink(most)
		}
	}
	for _, i := range s.todo {
		for running == s.Config.Batch.AtOnce {
			await()
		}
		refusal := s.reserve(ctx, most)
		for refusal != nil && running > 0 && failure == nil && ctx.Err() == nil {
			await()
			refusal = s.reserve(ctx, most)
		}
		if failure == nil {
			failure = ctx.Err()
		}
		if failure == nil && refusal != nil {
			failure = s.end(i, encodeError(s.requests[i].Name, s.caller, refusal))
			continue
		}
		if failure != nil {
			if refusal == nil {
				s.memory.Shrink(most)
			}
			break
		}
		running++
		go func() { finished <- s.one(ctx, i) }()
	}
	for running > 0 {
		await()
	}
	return failure
}

// reserve takes the memory that an answer may need, or refuses its request.
func (s *sending) reserve(ctx context.Context, most int64) *arm.Error {
	full := "there is no room for its answer beside those of the others; it was not sent"
	if !s.keeps && s.room < most {
		return unsent(arm.ServerBusy, full)
	}
	waiting, cancel := context.WithTimeout(ctx, max(memoryWait, s.patience))
	defer cancel()
	switch err := s.memory.Grow(waiting, most); {
	case errors.Is(err, limits.ErrCallerShare):
		return unsent(arm.TooManyRequests, "the answers in other batches of this caller hold all the memory that one caller may have for them; it was not sent")
	case err != nil:
		return unsent(arm.ServerBusy, full)
	}
	s.room -= most
	return nil
}

func unsent(code arm.Code, why string) *arm.Error {
	fault := arm.NewError(code, why)
	fault.RetryAfter = busyRetry
	return fault
}

// one sends one request. A panic in it is an error of the batch.
func (s *sending) one(ctx context.Context, i int) (c sent) {
	if p := limits.CatchPanic(func() { c = s.send(ctx, i) }); p != nil {
		return sent{err: p}
	}
	return c
}

func (s *sending) send(ctx context.Context, i int) sent {
	q := &s.requests[i]
	if s.admit != nil {
		switch refusal, err := s.admit(); {
		case err != nil:
			return sent{err: err}
		case refusal != nil:
			answer := encodeError(q.Name, s.caller, refusal)
			return sent{size: int64(len(answer)), err: s.end(i, answer)}
		}
	}
	if s.begin != nil && !q.Reads() {
		first, err := s.begin(i)
		if err != nil || !first {
			return sent{err: err}
		}
	}
	if s.bound != nil {
		var cancel context.CancelFunc
		ctx, cancel = s.bound(ctx, q)
		defer cancel()
	}
	answer, status := s.serve(ctx, s.caller, q)
	if ctx.Err() != nil && status == arm.StatusClientClosed {
		return sent{err: fmt.Errorf("a request of a batch was given up: %w", ctx.Err())}
	}
	return sent{size: int64(len(answer)), err: s.end(i, answer)}
}
