package harness

import (
	"testing"
	"time"
)

// Await polls until a condition holds, and fails the test if that takes longer than the
// bound.
func Await(t testing.TB, bound time.Duration, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(bound); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not seen within %v: %s", bound, what)
		}
	}
}

// OK ends the test where what it needs has failed.
func OK(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
