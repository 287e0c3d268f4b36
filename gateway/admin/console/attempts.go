package console

import (
	"crypto/sha256"
	"net/netip"
	"slices"
	"sync"
	"time"

	"portico/connections"
)

// Bounds of tokens that are guessed.
const (
	mostFailures  = 5 // different ones, by one address within failureTime
	failureTime   = time.Minute
	mostAddresses = 1024
)

// Attempts paces guesses of a token by address: sign-ins, and requests that bring one. The
// zero value has seen none. It is safe for concurrent use.
type Attempts struct {
	mu     sync.Mutex
	failed map[netip.Prefix]*failures
}

type failures struct {
	first   time.Time
	guesses [][sha256.Size]byte // their hashes
}

// Wait returns how long an address has to wait before it may try again; 0: it may now.
func (a *Attempts) Wait(from netip.Addr, now time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	f := a.failed[connections.Network(from)]
	if f == nil || len(f.guesses) < mostFailures {
		return 0
	}
	return max(0, failureTime-now.Sub(f.first))
}

// Failed counts a guess of an address. One of before is none: a program whose token was
// withdrawn goes on with it, and must not keep others of its address out.
func (a *Attempts) Failed(from netip.Addr, guess string, now time.Time) {
	hash := sha256.Sum256([]byte(guess))
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
	if len(f.guesses) < mostFailures && !slices.Contains(f.guesses, hash) {
		f.guesses = append(f.guesses, hash)
	}
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
