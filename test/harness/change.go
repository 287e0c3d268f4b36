package harness

import (
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Text is this Portico's configuration file for a configuration: its own addresses and
// store, and everything else from config.
func (p *Portico) Text(t testing.TB, config Config) string {
	t.Helper()
	f := p.file
	f.Config = config.withDefaults(f.Listen)
	return string(f.render(t))
}

// Write replaces the configuration file in one step.
func (p *Portico) Write(t testing.TB, text string) {
	t.Helper()
	OK(t, os.WriteFile(p.ConfigFile+".new", []byte(text), 0o600))
	OK(t, os.Rename(p.ConfigFile+".new", p.ConfigFile))
}

// ReplaceProviders puts a section of providers, YAML, in place of the one of the
// configuration, and restarts the gateway with it.
func (p *Portico) ReplaceProviders(t testing.TB, providers string) {
	t.Helper()
	config, err := os.ReadFile(p.ConfigFile)
	OK(t, err)
	before, rest, found := strings.Cut(string(config), "\nproviders:\n")
	_, after, ends := strings.Cut(rest, "\nsubscriptions:\n")
	if !found || !ends {
		t.Fatalf("the configuration has no providers between its other sections:\n%s", config)
	}
	p.Write(t, before+"\n"+providers+"subscriptions:\n"+after)
	p.Stop(t)
	p.Restart(t)
}

// SendHangup sends SIGHUP.
func (p *Portico) SendHangup(t testing.TB) { t.Helper(); p.signal(t, syscall.SIGHUP) }

// SendTerminate sends SIGTERM and does not wait; see [Portico.Stop].
func (p *Portico) SendTerminate(t testing.TB) { t.Helper(); p.signal(t, syscall.SIGTERM) }

// ExitCode waits for the end of the process; -1: a signal ended it.
func (p *Portico) ExitCode(t testing.TB) int { t.Helper(); return p.process.ExitCode(t) }

func (p *Portico) signal(t testing.TB, sig syscall.Signal) {
	t.Helper()
	OK(t, p.process.signal(sig))
}

// Metrics is the page of metrics. A gateway that cannot collect it in time, for example
// on a busy machine, answers 503 and is asked again.
func (p *Portico) Metrics(t testing.TB) string {
	t.Helper()
	for end := time.Now().Add(startBound); ; time.Sleep(20 * time.Millisecond) {
		a := p.Admin(t, Request{Path: "/metrics"})
		if a.Status != http.StatusServiceUnavailable || time.Now().After(end) {
			return string(a.Want(t, http.StatusOK).Body)
		}
	}
}

// Metric reads a metric without labels from the admin listener.
func (p *Portico) Metric(t testing.TB, name string) float64 {
	t.Helper()
	for line := range strings.Lines(p.Metrics(t)) {
		value, found := strings.CutPrefix(line, name+" ")
		if !found {
			continue
		}
		number, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		OK(t, err)
		return number
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}
