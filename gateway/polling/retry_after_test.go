package polling

import (
	"net/http"
	"testing"
	"time"
)

func TestRetryAfterIsClamped(t *testing.T) {
	f := newFixture(t)
	for sent, want := range map[string]string{
		"": "", "0": "10", "15": "15", "9999": "600", "-1": "10", "junk": "", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat): "600",
		time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat): "10",
	} {
		h := http.Header{}
		if sent != "" {
			h.Set("Retry-After", sent)
		}
		f.clampRetryAfter(h, 202)
		if h.Get("Retry-After") != want {
			t.Errorf("%q became %q, want %q", sent, h.Get("Retry-After"), want)
		}
	}
}
