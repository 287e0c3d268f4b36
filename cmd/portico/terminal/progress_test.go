package terminal

import (
	"strings"
	"testing"
	"time"
)

// A bar knows the rate of late, and by it the time that is left; off a terminal there is
// a line for each change.
func TestProgress(t *testing.T) {
	var lines strings.Builder
	at := now
	p := NewProgress(On(&lines), "sweep")
	p.now = func() time.Time { return at }
	bar := ""
	for second := range 100 {
		at = now.Add(time.Duration(second) * time.Second)
		done := second // one a second, at first
		if second > 40 {
			done = 40 + 10*(second-40)
		}
		p.Set(done, 1000, "")
		bar = p.bar(at, done, 1000, "2 in flight")
	}
	if want := "sweep [###############---------] 630 of 1000, 10.0/s, 37s left, 2 in flight"; bar != want {
		t.Errorf("%q, want %q", bar, want)
	}
	p.Set(1000, 1000, "")
	p.Set(1000, 1000, "")
	p.End()
	if n := strings.Count(lines.String(), "\n"); n != 101 || !strings.HasPrefix(lines.String(), "sweep: 0 of 1000\n") || !strings.HasSuffix(lines.String(), "sweep: 1000 of 1000\n") {
		t.Errorf("%d lines:\n%s", n, lines.String())
	}
}
