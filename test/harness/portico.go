package harness

import (
	"context"
	"crypto/tls"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Portico is a running `portico serve`.
type Portico struct {
	// URL is the public listener's address, AdminURL the admin listener's, both without a
	// final slash.
	URL      string
	AdminURL string
	// ConfigFile is the configuration file; a test may change it before [Portico.Restart].
	ConfigFile string
	// Database is the SQLite file of its state, unless that is in PostgreSQL.
	Database string
	// Client trusts the public listener's certificate, as does anyone who trusts
	// AuthorityFile; "" without TLS.
	Client        *http.Client
	AuthorityFile string
	// Token is the raw token that Do and Try send, "" if auth is none.
	Token string
	// Rules are the failpoints' rules at its start, if it has failpoints.
	Rules string

	points  string // address of their control listener
	dir     string
	program string
	file    file
	process *Process
	earlier []*Process // that were killed or stopped
}

// StartReplicas runs several Porticos with one configuration, which must name a
// PostgreSQL database. The first one's URL is the public URL of all.
func StartReplicas(t testing.TB, n int, config Config) []*Portico {
	t.Helper()
	var replicas []*Portico
	for range n {
		p := StartPortico(t, config)
		if config.PublicURL == "" {
			config.PublicURL = p.URL
		}
		replicas = append(replicas, p)
	}
	return replicas
}

// StartPortico writes a configuration file, runs `portico serve` with it until the test
// ends, and returns once it is ready.
func StartPortico(t testing.TB, config Config) *Portico {
	t.Helper()
	p := newPortico(t, config)
	p.start(t)
	return p
}

// RefusedPortico runs `portico serve` with a configuration that must prevent its start,
// and returns its standard error.
func RefusedPortico(t testing.TB, config Config) string {
	t.Helper()
	p := newPortico(t, config)
	process := startWith(t, "portico serve", p.dir, p.program, p.environment(), "serve", "--config", p.ConfigFile)
	if code := process.ExitCode(t); code == 0 {
		t.Error("portico serve exited with 0 where it should have refused to start")
	}
	return process.Stderr()
}

// newPortico writes a configuration file.
func newPortico(t testing.TB, config Config) *Portico {
	t.Helper()
	dir := t.TempDir()
	listen, admin := config.Listen, FreeAddress(t)
	if listen == "" {
		listen = FreeAddress(t)
	}
	f := file{
		Config:   config.withDefaults(listen),
		Listen:   listen,
		Admin:    admin,
		Database: filepath.Join(dir, "portico.db"),
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 32}
	scheme := "http://"
	if config.TLS {
		scheme = "https://"
		f.Certificate = NewCertificate(t, dir)
		transport.TLSClientConfig = &tls.Config{RootCAs: f.Certificate.Pool, MinVersion: tls.VersionTLS12}
		transport.ForceAttemptHTTP2 = true
	}
	p := &Portico{
		URL:        scheme + listen,
		AdminURL:   "http://" + admin,
		ConfigFile: filepath.Join(dir, "portico.yaml"),
		Database:   f.Database,
		Client:     newClient(transport),

		AuthorityFile: f.Certificate.AuthorityFile,
		dir:           dir,
		file:          f,
	}
	switch {
	case config.Program != "":
		p.program = config.Program
	case config.Failpoints:
		p.program, p.points, p.Rules = BuildFailpoints(t), FreeAddress(t), config.Rules
	default:
		p.program = Build(t).Portico
	}
	if len(config.Tokens) > 0 {
		p.Token = config.Tokens[0].Raw
	}
	OK(t, os.WriteFile(p.ConfigFile, f.render(t), 0o600))
	return p
}

func (p *Portico) start(t testing.TB) {
	t.Helper()
	if p.process != nil {
		p.earlier = append(p.earlier, p.process)
	}
	p.process = startLogging(t, p.file.LogFile, "portico serve", p.dir, p.program, p.environment(), "serve", "--config", p.ConfigFile)
	t.Cleanup(p.Client.CloseIdleConnections)
	p.waitReady(t)
}

// waitReady polls /readyz until it answers 200, the process ends or the bound passes.
func (p *Portico) waitReady(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startBound)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	var last string
	for {
		a, err := send(ctx, p.Client, p.AdminURL, "", Request{Method: http.MethodGet, Path: "/readyz"})
		switch {
		case err != nil:
			last = err.Error()
		case a.Status == http.StatusOK:
			return
		default:
			last = string(a.Body)
		}
		select {
		case <-p.process.ended:
			t.Fatalf("portico serve ended before it was ready: %v\n%s", p.process.err, p.process.stderr.tail(8<<10))
		case <-ctx.Done():
			t.Fatalf("portico serve is not ready after %v: %s\n%s", startBound, last, p.process.stderr.tail(8<<10))
		case <-tick.C:
		}
	}
}

// Kill ends Portico by SIGKILL.
func (p *Portico) Kill(t testing.TB) { t.Helper(); p.process.Kill(t) }

// Pause stops Portico, with connections left open, until [Portico.Resume].
func (p *Portico) Pause(t testing.TB) { t.Helper(); p.process.Pause(t) }

// Resume continues a paused Portico.
func (p *Portico) Resume(t testing.TB) { t.Helper(); p.process.Resume(t) }

// Stop ends Portico by SIGTERM and expects it to exit cleanly.
func (p *Portico) Stop(t testing.TB) {
	t.Helper()
	p.Client.CloseIdleConnections()
	p.process.Stop(t, syscall.SIGTERM)
}

// Restart runs Portico again, after [Portico.Kill] or [Portico.Stop], with the
// same configuration file, addresses and store, and returns once it is ready.
func (p *Portico) Restart(t testing.TB) {
	t.Helper()
	p.Client.CloseIdleConnections()
	p.start(t)
}

// Pid is the id of the running process.
func (p *Portico) Pid() int { return p.process.Pid() }

// Running reports whether the process runs.
func (p *Portico) Running() bool { return !p.process.Ended() }

// Log is what the running process has logged so far.
func (p *Portico) Log() string { return p.process.Stderr() }

// Logs is what Portico has logged since the test began, including restarts.
func (p *Portico) Logs() string {
	var all strings.Builder
	for _, process := range append(slices.Clone(p.earlier), p.process) {
		all.WriteString(process.Stderr())
	}
	return all.String()
}

// Try makes a call of the public listener. Unlike [Portico.Do] it may be used
// from any goroutine.
func (p *Portico) Try(ctx context.Context, r Request) (Answer, error) {
	return send(ctx, p.Client, p.URL, p.Token, r)
}

// Do makes a call of the public listener; a failure ends the test.
func (p *Portico) Do(t testing.TB, r Request) Answer {
	t.Helper()
	a, err := p.Try(t.Context(), r)
	OK(t, err)
	return a
}

// TryAdmin makes a call of the admin listener, from any goroutine.
func (p *Portico) TryAdmin(ctx context.Context, r Request) (Answer, error) {
	return send(ctx, p.Client, p.AdminURL, "", r)
}

// Admin makes a call of the admin listener; a failure ends the test.
func (p *Portico) Admin(t testing.TB, r Request) Answer {
	t.Helper()
	a, err := send(t.Context(), p.Client, p.AdminURL, "", r)
	OK(t, err)
	return a
}
