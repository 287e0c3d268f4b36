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
		alive(idling, false) // a page that nobody looks at asks all the same
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
		t.Error("there is a session that nobody began")
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
	for i := range mostFailures {
		if a.Wait(from, now) != 0 {
			t.Fatal("it has to wait too soon")
		}
		a.Failed(from, strconv.Itoa(i), now)
		a.Failed(from, strconv.Itoa(i), now) // again: no further guess
	}
	if wait := a.Wait(from, now.Add(time.Second)); wait != failureTime-time.Second {
		t.Errorf("it waits for %v", wait)
	}
	if a.Wait(other, now) != 0 || a.Wait(from, now.Add(failureTime)) != 0 {
		t.Error("another address waits, or it waits for ever")
	}
	six := netip.MustParseAddr("2001:db8::1")
	for i := range 3 * mostAddresses {
		a.Failed(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), "guess", now.Add(time.Duration(i)))
		if i < mostFailures {
			a.Failed(six.Next(), strconv.Itoa(i), now.Add(failureTime))
		}
	}
	if len(a.failed) > mostAddresses {
		t.Errorf("%d addresses are remembered", len(a.failed))
	}
	if a.Wait(netip.MustParseAddr("2001:db8::ffff"), now.Add(failureTime)) == 0 {
		t.Error("an address of the same /64 does not wait")
	}
}
