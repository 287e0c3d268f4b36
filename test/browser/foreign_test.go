package browser

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// foreignPage serves an empty page of another origin.
func foreignPage(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<!DOCTYPE html><title>evil</title><body>"))
	}))
	t.Cleanup(s.Close)
	return s.URL
}
