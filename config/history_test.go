package config

import (
	"errors"
	"testing"
	"time"
)

// Refusals, of which anyone who writes the file can cause any number, push out no
// generation, and the other way round.
func TestHistoryIsBounded(t *testing.T) {
	var h History
	start, c := time.Now(), Defaults()
	next := c
	next.Upstream.CallTimeout += time.Second
	h.RecordApplied(HistoryEntry{Number: 1, Time: start}, nil, &c)
	h.RecordApplied(HistoryEntry{Number: 2, Time: start.Add(time.Second), Why: "SIGHUP"}, &c, &next)
	for i := range 3 * maxEntries {
		h.RecordRefused(HistoryEntry{Time: start.Add(time.Duration(2+i) * time.Second)}, errors.New("a secret"))
	}
	all := h.Entries()
	if len(all) != maxEntries+2 || all[len(all)-1].Number != 1 || all[len(all)-2].Number != 2 {
		t.Fatalf("%d entries: %+v", len(all), all)
	}
	taken := all[len(all)-2]
	if len(taken.Differences) != 1 || taken.Differences[0] != (Difference{Path: "upstream.callTimeout", From: "1m", To: "1m1s"}) {
		t.Errorf("%+v", taken)
	}
	if got := all[0].Faults; len(got) != 1 || got[0] == "a secret" {
		t.Errorf("%q", got)
	}
}
