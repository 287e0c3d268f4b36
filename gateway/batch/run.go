package batch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"portico/arm"
	"portico/limits"
)

// sender sends requests of a batch, several at a time, within the memory that its answers
// may take.
type sender struct {
	*Batches
	caller   *Caller
	requests []Request
	todo     []int // indexes of the requests to be sent
	memory   *limits.Reservation
	// keepsAnswers: answers stay in memory until it is closed. Otherwise onAnswer
	// stores them, and room is what they may still take in the store.
	keepsAnswers bool
	room         int64
	// memoryTimeout is how long a request waits for memory, if longer than memoryWait.
	memoryTimeout time.Duration
	// admitRequest returns why no request may be sent now; nil allows all.
	admitRequest func() (*arm.Error, error)
	// markStarted is called before a request that may change something; if it returns
	// false, the request must not be sent. nil allows all.
	markStarted func(i int) (bool, error)
	// onAnswer receives each answer; it is called concurrently.
	onAnswer func(i int, answer []byte) error
	// requestContext returns the context of one request. If nil, all share the caller's.
	requestContext func(ctx context.Context, q *Request) (context.Context, context.CancelFunc)
}

// memoryWait is how long a request of a batch waits for memory.
const memoryWait = 10 * time.Second

// sendResult is the outcome of one request: the size of its answer.
type sendResult struct {
	size int64
	err  error
}

// run sends the requests of todo. It returns when none is under way; an error or the end
// of ctx stops it early.
func (s *sender) run(ctx context.Context) error {
	most := s.Config.Limits.AnswerBody
	finished := make(chan sendResult)
	running := 0
	var failure error
	await := func() {
		c := <-finished
		running--
		if failure == nil {
			failure = c.err
		}
		s.room += most - c.size
		if s.keepsAnswers {
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
			failure = s.onAnswer(i, encodeError(s.requests[i].Name, s.caller, refusal))
			continue
		}
		if failure != nil {
			if refusal == nil {
				s.memory.Shrink(most)
			}
			break
		}
		running++
		go func() { finished <- s.sendRecovering(ctx, i) }()
	}
	for running > 0 {
		await()
	}
	return failure
}

// reserve reserves the memory that an answer may need, or refuses its request.
func (s *sender) reserve(ctx context.Context, most int64) *arm.Error {
	full := "there is no room for its answer beside those of the others; it was not sent"
	if !s.keepsAnswers && s.room < most {
		return unsent(arm.ServerBusy, full)
	}
	waiting, cancel := context.WithTimeout(ctx, max(memoryWait, s.memoryTimeout))
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

// sendRecovering sends one request. A panic in it becomes an error of the batch.
func (s *sender) sendRecovering(ctx context.Context, i int) (c sendResult) {
	if p := limits.CatchPanic(func() { c = s.send(ctx, i) }); p != nil {
		return sendResult{err: p}
	}
	return c
}

func (s *sender) send(ctx context.Context, i int) sendResult {
	q := &s.requests[i]
	if s.admitRequest != nil {
		switch refusal, err := s.admitRequest(); {
		case err != nil:
			return sendResult{err: err}
		case refusal != nil:
			answer := encodeError(q.Name, s.caller, refusal)
			return sendResult{size: int64(len(answer)), err: s.onAnswer(i, answer)}
		}
	}
	if s.markStarted != nil && !q.Reads() {
		first, err := s.markStarted(i)
		if err != nil || !first {
			return sendResult{err: err}
		}
	}
	if s.requestContext != nil {
		var cancel context.CancelFunc
		ctx, cancel = s.requestContext(ctx, q)
		defer cancel()
	}
	answer, status := s.serve(ctx, s.caller, q)
	if ctx.Err() != nil && status == arm.StatusClientClosed {
		return sendResult{err: fmt.Errorf("a request of a batch was given up: %w", ctx.Err())}
	}
	return sendResult{size: int64(len(answer)), err: s.onAnswer(i, answer)}
}
