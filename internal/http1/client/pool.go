package client

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// Idle counts and bounds the idle connections of several clients together.
type Idle struct {
	Max  int64
	open atomic.Int64
}

func (i *Idle) add() bool {
	if i.open.Add(1) > i.Max {
		i.open.Add(-1)
		return false
	}
	return true
}

func (i *Idle) remove(n int) { i.open.Add(-int64(n)) }

// errFull is the error of a call that may not open another connection.
var errFull = errors.New("as many connections to the address are open as there may be")

// pool keeps a client's idle connections. It returns the most recently used
// one first, so that surplus ones reach their timeout.
type pool struct {
	maxIdle, maxOpen int
	inAll            *Idle
	timeout          time.Duration

	mu      sync.Mutex
	idle    []*conn
	open    int // including those in use
	closing bool
	sweep   *time.Timer
	due     bool // sweep is set
}

// takeOrCount returns an idle connection, or nil after it has counted one
// that the caller will make.
func (p *pool) takeOrCount() (*conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closing = false
	if n := len(p.idle); n > 0 {
		cn := p.idle[n-1]
		p.idle[n-1] = nil
		p.idle = p.idle[:n-1]
		p.inAll.remove(1)
		return cn, nil
	}
	if p.open >= p.maxOpen {
		return nil, errFull
	}
	p.open++
	return nil, nil
}

// put keeps a connection whose exchange has ended, or closes it.
func (p *pool) put(cn *conn) {
	if !p.keep(cn) {
		p.discard(cn)
	}
}

func (p *pool) keep(cn *conn) bool {
	cn.idleSince = time.Time{} // the next sweep sets it
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closing || len(p.idle) >= p.maxIdle || !p.inAll.add() {
		return false
	}
	p.idle = append(p.idle, cn)
	if !p.due {
		p.due = true
		if p.sweep == nil {
			p.sweep = time.AfterFunc(p.pause(), p.sweepIdle)
		} else {
			p.sweep.Reset(p.pause())
		}
	}
	return true
}

// pause returns the time between two sweeps. A sweep closes a connection that an earlier
// one has seen idle, once the timeout has passed since then: within 5/4 of the timeout.
func (p *pool) pause() time.Duration { return p.timeout / 8 }

// discard closes a connection.
func (p *pool) discard(cn *conn) {
	_ = cn.Close()
	p.countClosed()
}

// countClosed counts a connection as closed.
func (p *pool) countClosed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open--
}

// sweepIdle closes connections that were idle for too long, or that the other
// end has closed.
func (p *pool) sweepIdle() {
	var ended []*conn
	p.mu.Lock()
	kept, now := p.idle[:0], time.Now()
	for _, cn := range p.idle {
		if cn.idleSince.IsZero() {
			cn.idleSince = now
		}
		// It still has the previous exchange's deadline.
		if now.Sub(cn.idleSince) >= p.timeout || cn.bound(time.Time{}) != nil || !cn.alive() {
			ended = append(ended, cn)
		} else {
			kept = append(kept, cn)
		}
	}
	clear(p.idle[len(kept):])
	p.idle = kept
	p.inAll.remove(len(ended))
	if p.due = len(kept) > 0; p.due {
		p.sweep.Reset(p.pause())
	}
	p.mu.Unlock()
	for _, cn := range ended {
		p.discard(cn)
	}
}

func (p *pool) closeIdle() {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.closing = nil, true
	p.inAll.remove(len(idle))
	if p.due {
		p.sweep.Stop()
		p.due = false
	}
	p.mu.Unlock()
	for _, cn := range idle {
		p.discard(cn)
	}
}
