package timing

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// RetryAfter parses an answer's Retry-After, in seconds or as a date. The pause is
// not negative and otherwise not bounded; ok is false if there is none that parses.
func RetryAfter(h http.Header, now time.Time) (pause time.Duration, ok bool) {
	sent := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.Atoi(sent); err == nil {
		return time.Duration(max(0, min(seconds, 1<<30))) * time.Second, true
	}
	at, err := http.ParseTime(sent)
	if err != nil {
		return 0, false
	}
	return max(0, at.Sub(now)), true
}
