package client

import (
	"sync"
	"time"
)

// writer writes the rest of a request during the wait for its answer. In all
// methods but write, a nil writer stands for one that has written everything.
type writer struct {
	conn *conn
	done chan struct{} // closed when write has returned

	mu       sync.Mutex
	stopped  bool
	answered bool
	err      error
}

// write writes the rest. If that fails, it shortens the wait for the answer.
func (w *writer) write(rest []byte) {
	defer close(w.done)
	_, err := w.conn.Write(rest)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err = err; err != nil && !w.stopped && !w.answered {
		w.conn.readUntil(time.Now().Add(writeGrace))
	}
}

// answerArrived records that the head of the answer has arrived, and reports whether
// the writing had failed before.
func (w *writer) answerArrived() (failed bool) {
	if w == nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answered = true
	return w.err != nil
}

// failure returns the error of the writing, unless it was stopped.
func (w *writer) failure() error {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return nil
	}
	return w.err
}

// stop ends the writing after a time, waits for its end, and reports whether
// everything was written.
func (w *writer) stop(grace time.Duration) bool {
	if w == nil {
		return true
	}
	if grace > 0 {
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-w.done:
		case <-timer.C:
		}
	}
	select {
	case <-w.done:
	default:
		w.mu.Lock()
		w.stopped = true
		w.mu.Unlock()
		_ = w.conn.dialled.SetWriteDeadline(time.Unix(1, 0))
		<-w.done
	}
	return w.err == nil
}
