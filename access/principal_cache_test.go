package access

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func tokenOf(n int) string { return fmt.Sprint("token ", n) }

func owner(n int) Principal {
	return Principal{TenantID: "T", ObjectID: fmt.Sprint(n), Expires: 1 << 40}
}

// A caller with any number of tokens pushes out its own alone.
func TestACallerForgetsItsOwnCredentials(t *testing.T) {
	m, now := NewPrincipalCache(), time.Now()
	m.Add(tokenOf(1), owner(1), now)
	for n := 100; n < 100+2*credentialsPerCaller; n++ {
		m.Add(tokenOf(n), owner(2), now)
	}
	if _, known := m.Get(tokenOf(1), now); !known || m.entries.Len() != 1+credentialsPerCaller {
		t.Errorf("another's is remembered: %v; %d in all", known, m.entries.Len())
	}
	if _, known := m.Get(tokenOf(100), now); known {
		t.Error("the oldest is still remembered")
	}
	if _, known := m.Get(tokenOf(99+2*credentialsPerCaller), now); !known {
		t.Error("the newest is not remembered")
	}
}

// What is used stays when too many callers come.
func TestRememberedIsBounded(t *testing.T) {
	m, now := NewPrincipalCache(), time.Now()
	m.Add(tokenOf(0), owner(0), now)
	for n := 1; n < maxCredentials+1000; n++ {
		m.Add(tokenOf(n), owner(n), now)
		if _, known := m.Get(tokenOf(0), now); !known {
			t.Fatalf("the one in use is gone after %d", n)
		}
	}
	if m.entries.Len() != maxCredentials || len(m.byCaller) != maxCredentials {
		t.Errorf("%d, %d", m.entries.Len(), len(m.byCaller))
	}
	large := owner(-1)
	large.Groups = Groups(strings.Repeat("x", 100<<10))
	for n := range 100 {
		large.ObjectID = fmt.Sprint("large", n)
		m.Add(tokenOf(-1-n), large, now)
	}
	if m.groups > maxGroupBytes {
		t.Errorf("%d bytes of groups", m.groups)
	}
	m.entries.Purge()
	if m.groups != 0 || m.entries.Len() != 0 || len(m.byCaller) != 0 {
		t.Errorf("%+v", m)
	}
}

func TestRememberedExpires(t *testing.T) {
	m, now := NewPrincipalCache(), time.Now()
	p := owner(1)
	p.Expires = now.Unix() + 10
	m.Add(tokenOf(1), p, now)
	if _, known := m.Get(tokenOf(1), now.Add(8*time.Second)); !known {
		t.Error("gone too early")
	}
	if _, known := m.Get(tokenOf(1), now.Add(11*time.Second)); known {
		t.Error("remembered for too long")
	}
}
