package harness

import (
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// Text is the configuration file that this Portico would have for a
// configuration: its own addresses and store, and all else as config says.
func (p *Portico) Text(t testing.TB, config Config) string {
	t.Helper()
	f := p.file
	f.Config = config.withDefaults(f.Listen)
	return string(f.render(t))
}

// Write replaces the configuration file, in one step.
func (p *Portico) Write(t testing.TB, text string) {
	t.Helper()
	if err := os.WriteFile(p.ConfigFile+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(p.ConfigFile+".new", p.ConfigFile); err != nil {
		t.Fatal(err)
	}
}

// Hangup sends SIGHUP.
func (p *Portico) Hangup(t testing.TB) { t.Helper(); p.signal(t, syscall.SIGHUP) }

// Terminate sends SIGTERM and does not wait; see [Portico.Stop].
func (p *Portico) Terminate(t testing.TB) { t.Helper(); p.signal(t, syscall.SIGTERM) }

// ExitCode waits for the end of the process; -1: a signal ended it.
func (p *Portico) ExitCode(t testing.TB) int { t.Helper(); return p.process.ExitCode(t) }

func (p *Portico) signal(t testing.TB, sig syscall.Signal) {
	t.Helper()
	if err := p.process.signal(sig); err != nil {
		t.Fatal(err)
	}
}

// Metric reads a metric without labels, as the admin listener shows it.
func (p *Portico) Metric(t testing.TB, name string) float64 {
	t.Helper()
	text := string(p.Admin(t, Request{Path: "/metrics"}).Want(t, http.StatusOK).Body)
	for line := range strings.Lines(text) {
		value, found := strings.CutPrefix(line, name+" ")
		if !found {
			continue
		}
		number, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil {
			t.Fatal(err)
		}
		return number
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}
