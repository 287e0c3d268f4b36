package console

import (
	"crypto/sha256"
	"net/netip"
	"slices"
	"sync"
	"time"

	"portico/internal/connections"
)

// Bounds on guesses of tokens.
const (
	mostFailures  = 5   // different wrong tokens from one address within failureTime
	mostGuesses   = 100 // below this many, known tokens are still accepted
	failureTime   = time.Minute
	knownTime     = time.Hour // since a correct token was last used
	mostAddresses = 1024
)

// Attempts limits guesses of a token by address, in sign-ins and in requests. After
// mostFailures wrong tokens, an address learns nothing about further guesses, but tokens that
// were used from it before are still accepted, for those who share the address with the
// guesser. After mostGuesses these wait as well. The zero value is ready for use. It is safe
// for concurrent use.
type Attempts struct {
	mu     sync.Mutex
	failed map[netip.Prefix]*failures
	known  map[knownToken]time.Time // the time of its last use
}

type failures struct {
	first   time.Time
	guesses [][sha256.Size]byte // their hashes
}

// knownToken is the hash of a token and an address that used it.
type knownToken struct {
	from netip.Prefix
	hash string
}

// Judge records that an address sent a token. hash is the hash of the configured token that
// equals it, or "" if there is none. Judge returns how long the address has to wait before it
// may try again; if it is 0, the caller accepts or refuses the token as usual.
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
		a.countFailure(at, f, token, now)
	case wait == 0:
		if _, known := a.known[who]; !known {
			a.makeRoomForKnown(now)
		}
		a.known[who] = now
	}
	return wait
}

// countFailure counts a wrong token, once however often it is sent: a program whose token was
// removed keeps sending it, and must not lock out others at its address.
func (a *Attempts) countFailure(at netip.Prefix, f *failures, guess string, now time.Time) {
	if a.failed == nil {
		a.failed = map[netip.Prefix]*failures{}
	}
	if f == nil {
		a.makeRoomForFailures(now)
		f = &failures{first: now}
		a.failed[at] = f
	}
	hash := sha256.Sum256([]byte(guess))
	if len(f.guesses) < mostGuesses && !slices.Contains(f.guesses, hash) {
		f.guesses = append(f.guesses, hash)
	}
}

// makeRoomForKnown forgets known tokens that are too old and, if the maximum is still reached,
// the least recently used one.
func (a *Attempts) makeRoomForKnown(now time.Time) {
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

// makeRoomForFailures forgets addresses whose time is over and, if the maximum is still
// reached, the one whose time ends first.
func (a *Attempts) makeRoomForFailures(now time.Time) {
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
