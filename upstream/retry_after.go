package upstream

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// RetryAfter is the pause that an answer's Retry-After asks for, in seconds or
// as a date, as it was sent: not negative, and otherwise not bounded. ok tells
// whether there is one that can be read.
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
