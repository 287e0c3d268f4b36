package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"portico/config"
	"portico/internal/meter"
)

// While removed credentials are accepted, the log says so once a minute, until the file is
// right again, though nothing has triggered a reload.
func TestRemovedCredentialsAreReportedAgain(t *testing.T) {
	seen, lines := observer.New(zap.InfoLevel)
	s := &service{
		path: filepath.Join(t.TempDir(), "portico.yaml"), log: zap.New(seen), configMetrics: meter.NewConfiguration(prometheus.NewRegistry()),
	}
	used := config.Defaults()
	used.Auth = config.Auth{Mode: config.AuthTokens, Tokens: []config.Token{{SHA256: "0123"}}}
	s.config.Store(&used)
	s.reportRemoved()
	at := s.removedReported
	for _, step := range []struct {
		after time.Duration
		lines int
	}{{time.Second, 1}, {59 * time.Second, 1}, {61 * time.Second, 2}} {
		s.repeatRemoved(at.Add(step.after))
		if n := lines.Len(); n != step.lines {
			t.Errorf("after %s: %d lines, want %d", step.after, n, step.lines)
		}
	}
	if err := os.WriteFile(s.path, []byte("auth: {tokens: [{sha256: 0123}]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		s.repeatRemoved(s.removedReported.Add(2 * time.Minute))
	}
	if n := lines.Len(); n != 2 {
		t.Errorf("%d lines after the end", n)
	}
}
