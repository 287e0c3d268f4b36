package console

import (
	"crypto/sha256"
	"net/netip"
	"slices"
	"sync"
	"time"

	"portico/internal/connections"
)

// Bounds of tokens that are guessed.
const (
	mostFailures  = 5   // different ones, by one address within failureTime
	mostGuesses   = 100 // of them; with fewer, known tokens still pass
	failureTime   = time.Minute
	knownTime     = time.Hour // since a right token was used
	mostAddresses = 1024
)

// Attempts paces guesses of a token by address: sign-ins, and requests that bring one. After
// mostFailures an address gets no answer that would tell whether another guess is right, but
// to a token that was used from there before: whoever shares an address with a guesser goes
// on, and after mostGuesses no one does. The zero value has seen none. It is safe for
// concurrent use.
type Attempts struct {
	mu     sync.Mutex
	failed map[netip.Prefix]*failures
	known  map[knownToken]time.Time // when it was used last
}

type failures struct {
	first   time.Time
	guesses [][sha256.Size]byte // their hashes
}

// knownToken is a token, by its hash, and an address from which it was used.
type knownToken struct {
	from netip.Prefix
	hash string
}

// Judge judges a token that an address sends: hash is that of the configuration's token
// which it is, empty for a wrong one. It returns how long the address has to wait before it
// may try again; 0: the token counts for what it is.
func (a *Attempts) Judge(from netip.Addr, token, hash string, now time.Time) (wait time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := connections.Network(from)
	f := a.failed[at]
	if f != nil && now.Sub(f.first) >= failureTime {
		f = nil
	}
	who := knownToken{at, hash}
	if f != nil && len(f.guesses) >= mostFailures {
		used, known := a.known[who]
		if known = known && now.Sub(used) < knownTime; !known || len(f.guesses) >= mostGuesses {
			wait = failureTime - now.Sub(f.first)
		}
	}
	switch {
	case hash == "":
		a.fail(at, f, token, now)
	case wait == 0:
		if _, known := a.known[who]; !known {
			a.forgetKnown(now)
		}
		a.known[who] = now
	}
	return wait
}

// fail counts a guess. One of before is none: a program whose token was withdrawn goes on
// with it, and must not keep others of its address out.
func (a *Attempts) fail(at netip.Prefix, f *failures, guess string, now time.Time) {
	if a.failed == nil {
		a.failed = map[netip.Prefix]*failures{}
	}
	if f == nil {
		a.makeRoom(now)
		f = &failures{first: now}
		a.failed[at] = f
	}
	hash := sha256.Sum256([]byte(guess))
	if len(f.guesses) < mostGuesses && !slices.Contains(f.guesses, hash) {
		f.guesses = append(f.guesses, hash)
	}
}

// forgetKnown makes room for one more that is known, as makeRoom does.
func (a *Attempts) forgetKnown(now time.Time) {
	if a.known == nil {
		a.known = map[knownToken]time.Time{}
	}
	var oldest knownToken
	for who, used := range a.known {
		if now.Sub(used) >= knownTime {
			delete(a.known, who)
		} else if was, ok := a.known[oldest]; !ok || used.Before(was) {
			oldest = who
		}
	}
	if len(a.known) >= mostAddresses {
		delete(a.known, oldest)
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
