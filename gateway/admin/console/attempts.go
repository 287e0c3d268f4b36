package console

import (
	"net/netip"
	"sync"
	"time"

	"portico/connections"
)

// Bounds of failed sign-ins.
const (
	mostFailures  = 5 // of one address within failureTime
	failureTime   = time.Minute
	mostAddresses = 1024
)

// Attempts paces failed sign-ins by address. The zero value has seen none. It is safe for
// concurrent use.
type Attempts struct {
	mu     sync.Mutex
	failed map[netip.Prefix]*failures
}

type failures struct {
	count int
	first time.Time
}

// Wait returns how long an address has to wait before it may try again; 0: it may now.
func (a *Attempts) Wait(from netip.Addr, now time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	f := a.failed[connections.Network(from)]
	if f == nil || f.count < mostFailures {
		return 0
	}
	return max(0, failureTime-now.Sub(f.first))
}

// Failed counts a failure of an address.
func (a *Attempts) Failed(from netip.Addr, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.failed == nil {
		a.failed = map[netip.Prefix]*failures{}
	}
	at := connections.Network(from)
	f := a.failed[at]
	if f == nil || now.Sub(f.first) >= failureTime {
		a.makeRoom(now)
		f = &failures{first: now}
		a.failed[at] = f
	}
	f.count++
}

// makeRoom forgets addresses whose time is over and, where as many are left as may, the
// one whose time ends first.
func (a *Attempts) makeRoom(now time.Time) {
	var oldest netip.Prefix
	for at, f := range a.failed {
		if now.Sub(f.first) >= failureTime {
			delete(a.failed, at)
		} else if was := a.failed[oldest]; was == nil || f.first.Before(was.first) {
			oldest = at
		}
	}
	if len(a.failed) >= mostAddresses {
		delete(a.failed, oldest)
	}
}
