package client

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// Idle counts the idle connections of several clients, which may be so many at most.
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

// errFull is the error of a call for which there may be no connection more.
var errFull = errors.New("as many connections to the address are open as there may be")

// pool keeps a client's idle connections. The one used last is used first, so that
// surplus ones reach their timeout.
type pool struct {
	maxIdle, maxOpen int
	inAll            *Idle
	timeout          time.Duration

	mu      sync.Mutex
	idle    []*conn
	open    int // those in use included
	closing bool
	sweep   *time.Timer
	due     bool // sweep is set
}

// take returns an idle connection, or nil after it has counted one that the caller is
// to make.
func (p *pool) take() (*conn, error) {
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
	cn.idleSince = time.Time{} // the next sweep says
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

// pause is the time between two sweeps. A connection is closed by that which comes when
// another one has seen it idle for the timeout: within 5/4 of it.
func (p *pool) pause() time.Duration { return p.timeout / 8 }

// discard closes a connection.
func (p *pool) discard(cn *conn) {
	_ = cn.Close()
	p.forget()
}

// forget counts a connection as closed.
func (p *pool) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open--
}

// sweepIdle closes connections that were idle for too long, or that their other end
// has closed.
func (p *pool) sweepIdle() {
	var ended []*conn
	p.mu.Lock()
	kept, now := p.idle[:0], time.Now()
	for _, cn := range p.idle {
		if cn.idleSince.IsZero() {
			cn.idleSince = now
		}
		// Its deadline is that of the exchange before.
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
