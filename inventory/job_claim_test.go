package inventory

import (
	"testing"
	"time"
)

// What was due when it was read may have been claimed since, even for a lease
// that is over again: then it is not what was read.
func TestAClaimIsOfWhatWasRead(t *testing.T) {
	s := openTest(t, testOptions(t))
	if _, err := s.AddJob(t.Context(), Job{Kind: "k", Subject: "x", Payload: "{}"}); err != nil {
		t.Fatal(err)
	}
	read, err := s.dueJobs(t.Context(), 10, []string{"k"})
	if err != nil || len(read) != 1 {
		t.Fatal(read, err)
	}
	if first, err := s.ClaimJobs(t.Context(), "one", 0, 10, "k"); err != nil || len(first) != 1 {
		t.Fatal(first, err)
	}
	if late, err := s.claim(t.Context(), read, "another", time.Minute); err != nil || len(late) != 0 {
		t.Errorf("claimed by what was read before: %+v, %v", late, err)
	}
	if anew, err := s.ClaimJobs(t.Context(), "another", time.Minute, 10, "k"); err != nil || len(anew) != 1 || anew[0].Token != read[0].Token+2 {
		t.Errorf("claimed anew: %+v, %v", anew, err)
	}
}

// The monotonic clock of a suspended machine stops; the one on the wall does not.
func TestElapsedIsByTheFasterClock(t *testing.T) {
	now := time.Now()
	if got := elapsed(now, now.Add(time.Second)); got != time.Second {
		t.Errorf("%v", got)
	}
	awoken := now.Round(0).Add(time.Hour) // no monotonic reading
	if got := elapsed(now, awoken); got < time.Hour {
		t.Errorf("%v", got)
	}
}
