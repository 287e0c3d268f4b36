package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"portico/internal/sendguard"
	"portico/internal/timing"
)

// exchange is one request on one connection, and its answer.
type exchange struct {
	response http.Response
	ctx      context.Context
	client   *Client
	deadline time.Time
	request  *Request    // until the answer has arrived
	stop     func() bool // ends its own watch of ctx; nil without one
	shared   bool        // the client's watch ends it
	reused   bool        // cn has carried a request before
	writer   *writer     // nil if the request was written before its answer was read

	holding sync.Mutex // guards cn against interrupt
	cn      *conn      // nil when the exchange has ended
	cut     bool       // cn was aborted
	watched timing.Watched[*exchange]

	mu   sync.Mutex // guards the fields below once run has returned
	ends bool       // close the connection after the exchange
	body
}

// run sends the request and reads the head of its answer.
func (x *exchange) run() error {
	switch {
	case x.shared:
		x.client.watch.Add(&x.watched, x)
	case x.ctx.Done() != nil:
		x.stop = context.AfterFunc(x.ctx, x.cn.abort)
	}
	unsent := x.send()
	switch {
	case unsent == nil:
	case x.request.Guard == nil:
		return x.fail(fmt.Errorf("%w: %w", errUnanswered, unsent))
	case !x.mayHaveAnswer(unsent):
		return x.fail(unsent)
	}
	if x.ends = unsent != nil; x.ends {
		x.cn.readUntil(time.Now().Add(writeGrace)) // an answer would have arrived already
	}
	err := x.receive()
	x.request = nil
	switch {
	case err == nil:
		return nil
	case unsent != nil:
		return x.fail(unsent)
	}
	return x.fail(err)
}

// Contents up to inlineContent are sent with the head in one piece.
const inlineContent = 8 << 10

func (x *exchange) send() error {
	cn, rest := x.cn, x.request.Content
	cn.out = x.request.appendHead(cn.out[:0], x.client.options.Host)
	if cn.canAsk(x.request) {
		return cn.ask(x)
	}
	x.notifyConn()
	if len(rest) <= inlineContent {
		cn.out = append(cn.out, rest...)
		rest = nil
	}
	if _, err := cn.Write(cn.out); err != nil || len(rest) == 0 {
		return err
	}
	if cn.state == nil {
		n, err := cn.wire.TryWrite(rest)
		if rest = rest[n:]; err != nil || len(rest) == 0 {
			return err
		}
	}
	// The provider may answer before, or without, reading everything.
	x.writer = &writer{conn: cn, done: make(chan struct{})}
	go x.writer.write(rest)
	return nil
}

// notifyConn notifies the observer of the request's connection.
func (x *exchange) notifyConn() {
	r, cn := x.request, x.cn
	cn.reused = true
	if r.Observer != nil {
		r.Observer.GotConn(cn.dialled, x.reused, cn.state)
	}
	if r.Guard != nil {
		r.Guard.Attach(cn.wire.Conn, x.reused)
	}
}

// mayHaveAnswer reports whether there may be an answer although the request could not be
// written completely: the provider may have answered early and closed the connection.
func (x *exchange) mayHaveAnswer(unsent error) bool {
	var timeout interface{ Timeout() bool }
	switch {
	case !x.request.Guard.Sent(),
		errors.Is(unsent, sendguard.ErrCutOff), errors.Is(unsent, sendguard.ErrSecondSend),
		errors.As(unsent, &timeout) && timeout.Timeout():
		return false
	}
	return true
}

// receive reads the head of the final answer.
func (x *exchange) receive() error {
	for limit, n := x.client.options.MaxHead, 0; ; n++ {
		head, lines, err := x.cn.readHead(limit)
		if err != nil {
			if n > 0 && errors.Is(err, errUnanswered) {
				return errEndedInHead // interim answers have arrived
			}
			return err
		}
		limit -= len(head)
		parseHead(head, lines, &x.response)
		kind, length, ends, err := frame(&x.response, x.request.Method)
		if err != nil {
			return err
		}
		if status := x.response.StatusCode; status >= 100 && status < 200 && status != http.StatusSwitchingProtocols {
			if n == maxInterim {
				return errInterim
			}
			continue
		}
		x.begin(kind, length, ends)
		return nil
	}
}

// begin hands the body to its reader.
func (x *exchange) begin(kind bodyKind, length int64, ends bool) {
	x.kind, x.left = kind, length
	if x.ends || x.writer.answerArrived() {
		x.ends = true
		x.cn.readUntil(x.deadline)
		if x.ctx.Err() != nil {
			x.cn.abort() // the deadline may have passed before
		}
	}
	if x.response.StatusCode >= http.StatusBadRequest && !x.writer.stop(0) {
		x.ends = true // it refuses the request, so the rest stays unsent
	}
	x.ends = x.ends || ends
	x.response.Close = x.ends
	x.response.Body = x
	if kind == noBody {
		x.response.Body = http.NoBody
		x.finish(true)
	}
}

// fail ends the exchange and its connection, and returns the error for the caller.
func (x *exchange) fail(err error) error {
	x.finish(false)
	if cause := x.ctx.Err(); cause != nil {
		return cause
	}
	if unsent := x.writer.failure(); unsent != nil {
		err = unsent // the other error is a consequence
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return context.DeadlineExceeded
	}
	return err
}

// interrupt makes a running read fail.
func (x *exchange) interrupt() {
	x.holding.Lock()
	defer x.holding.Unlock()
	if x.cn != nil {
		x.cut = true
		x.cn.abort()
	}
}

// endOverdue interrupts the exchange if it has to end, at each look until it has ended.
func (x *exchange) endOverdue(now time.Time) {
	if x.ctx.Err() != nil || !x.deadline.IsZero() && !now.Before(x.deadline) {
		x.interrupt()
	}
}

// release takes the connection from the exchange, and reports whether it was
// never aborted.
func (x *exchange) release() (cn *conn, intact bool) {
	x.holding.Lock()
	defer x.holding.Unlock()
	cn, x.cn = x.cn, nil
	return cn, !x.cut
}

// writeGrace is the time for the rest of a request after its whole answer.
const writeGrace = 50 * time.Millisecond

// finish ends the exchange. Its connection is used again if the answer was
// read completely and nothing forbids it.
func (x *exchange) finish(complete bool) {
	cn, intact := x.release()
	again := complete && intact && !x.ends && cn.r == cn.w
	grace := writeGrace
	if !again {
		grace = 0
	}
	again = x.writer.stop(grace) && again
	if x.shared {
		x.client.watch.Remove(&x.watched)
	}
	if x.stop != nil {
		again = x.stop() && again
	}
	if !again {
		x.client.pool.discard(cn)
		return
	}
	cn.wire.Detach()
	cn.shrink()
	x.client.pool.put(cn)
}
