package timing

import (
	"net/http"
	"testing"
	"time"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	for sent, want := range map[string]time.Duration{
		"0": 0, " 15 ": 15 * time.Second, "-3": 0, "99999": 99999 * time.Second,
		"Mon, 06 May 2024 07:09:09 GMT": time.Minute, "Mon, 06 May 2024 07:00:00 GMT": 0,
	} {
		if got, ok := RetryAfter(http.Header{"Retry-After": {sent}}, now); !ok || got != want {
			t.Errorf("%q: %v, %v; want %v", sent, got, ok, want)
		}
	}
	for _, sent := range []string{"", "soon", "1.5"} {
		if got, ok := RetryAfter(http.Header{"Retry-After": {sent}}, now); ok || got != 0 {
			t.Errorf("%q: %v, %v", sent, got, ok)
		}
	}
}
