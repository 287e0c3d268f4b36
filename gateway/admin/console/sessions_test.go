package console

import (
	"net/netip"
	"strconv"
	"testing"
	"time"
)

func TestSessionsEnd(t *testing.T) {
	now := time.Now()
	s := NewSessions(func() time.Time { return now })
	alive := func(id string, person bool) bool {
		_, ok := s.Token(id, person)
		return ok
	}
	idling, used := s.Begin("a"), s.Begin("a")
	for range 7 {
		now = now.Add(59 * time.Minute)
		if !alive(used, true) {
			t.Fatal("a session that is used ended")
		}
		alive(idling, false) // a page that no one looks at asks all the same
	}
	if alive(idling, true) {
		t.Error("an idle session goes on")
	}
	now = now.Add(58 * time.Minute)
	alive(used, true)
	now = now.Add(10 * time.Minute)
	if alive(used, true) {
		t.Error("a session goes on for more than eight hours")
	}
	ended := s.Begin("a")
	s.End(ended)
	if alive(ended, true) || alive("", true) || alive("guessed", true) {
		t.Error("there is a session that no one began")
	}
}

// Each token has its own room: one that signs in again and again ends no session of
// another.
func TestSessionsAreBounded(t *testing.T) {
	now := time.Now()
	s := NewSessions(func() time.Time { return now })
	other, first := s.Begin("other"), s.Begin("a")
	for range 3 * mostEach {
		now = now.Add(time.Second)
		s.Begin("a")
	}
	if len(s.all) != mostEach+1 {
		t.Errorf("%d sessions", len(s.all))
	}
	if _, ok := s.Token(other, false); !ok {
		t.Error("another token's session has ended")
	}
	if _, ok := s.Token(first, false); ok {
		t.Error("the one that was used least lately goes on")
	}
}

func TestAttemptsArePaced(t *testing.T) {
	var a Attempts
	now, from, other := time.Now(), netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	fails := func(from netip.Addr, guess int, now time.Time) time.Duration {
		return a.Judge(from, strconv.Itoa(guess), "", now)
	}
	right := func(from netip.Addr, hash string, now time.Time) time.Duration {
		return a.Judge(from, "right", hash, now)
	}
	if right(from, "used before", now) != 0 || right(other, "another", now) != 0 {
		t.Fatal("a right token has to wait")
	}
	for i := range mostFailures {
		if fails(from, i, now) != 0 {
			t.Fatal("it has to wait too soon")
		}
		if i < mostFailures-1 && fails(from, i, now) != 0 { // again: no further guess
			t.Fatal("it has to wait for one guess")
		}
	}
	later := now.Add(time.Second)
	for _, wait := range []time.Duration{fails(from, 0, later), right(from, "another", later)} {
		if wait != failureTime-time.Second {
			t.Errorf("it waits for %v", wait)
		}
	}
	if right(other, "used before", now) != 0 || right(from, "another", now.Add(failureTime)) != 0 {
		t.Error("another address waits, or it waits for ever")
	}
	// Who has used a token there goes on, until too many are guessed.
	for i := range mostGuesses - mostFailures {
		if right(from, "used before", later) != 0 {
			t.Fatalf("who has used a token before waits after %d guesses", mostFailures+i)
		}
		fails(from, mostFailures+i, later)
	}
	if right(from, "used before", later) == 0 {
		t.Error("guesses go on for ever")
	}
	a = Attempts{}
	right(from, "used before", now.Add(-knownTime))
	for i := range mostFailures {
		fails(from, i, now)
	}
	if right(from, "used before", now) == 0 {
		t.Error("a token that was used long ago goes on")
	}
}

// What is remembered of addresses is bounded; one of IPv6 is a network.
func TestAttemptsAreBounded(t *testing.T) {
	var a Attempts
	now, six := time.Now(), netip.MustParseAddr("2001:db8::1")
	for i := range 3 * mostAddresses {
		of, at := netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), now.Add(time.Duration(i))
		a.Judge(of, "guess", "", at)
		a.Judge(of, "right", "hash", at)
		if i < mostFailures {
			a.Judge(six.Next(), strconv.Itoa(i), "", now.Add(failureTime))
		}
	}
	if len(a.failed) > mostAddresses || len(a.known) > mostAddresses {
		t.Errorf("%d addresses are remembered, and %d tokens", len(a.failed), len(a.known))
	}
	if a.Judge(netip.MustParseAddr("2001:db8::ffff"), "right", "hash", now.Add(failureTime)) == 0 {
		t.Error("an address of the same /64 does not wait")
	}
}
