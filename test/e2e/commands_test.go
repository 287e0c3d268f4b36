package e2e

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/term"

	"portico/test/harness"
)

// commander is somebody with the program and, in the environment, a service and its token.
type commander struct {
	admin, token string
}

// start starts a command.
func (o commander) start(t *testing.T, args ...string) *harness.Process {
	t.Helper()
	environment := []string{"PORTICO_ADMIN=" + o.admin, "PORTICO_ADMIN_TOKEN=" + o.token, harness.Build(t).Portico}
	return harness.Start(t, "portico "+args[0], t.TempDir(), "env", append(environment, args...)...)
}

// run runs a command and returns what it says.
func (o commander) run(t *testing.T, exit int, args ...string) (stdout, stderr string) {
	t.Helper()
	p := o.start(t, args...)
	if code := p.ExitCode(t); code != exit {
		t.Fatalf("portico %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), code, exit, p.Stdout(), p.Stderr())
	}
	return p.Stdout(), p.Stderr()
}

// An operator asks a service whose admin listener wants a token and is behind TLS.
func TestCommandsAskAServiceBehindTLS(t *testing.T) {
	t.Parallel()
	secret := harness.Token{Raw: "of-the-operator"}
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Server: "  adminToken: {sha256: " + secret.SHA256() + "}\n"}})
	at, err := url.Parse(w.Portico.AdminURL)
	harness.OK(t, err)
	authority := harness.NewAuthority(t)
	front := httptest.NewUnstartedServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(at) }})
	front.TLS = &tls.Config{Certificates: []tls.Certificate{authority.Issue(t, harness.Leaf{Name: "admin.example.com", Server: true}).Certificate}, MinVersion: tls.VersionTLS12}
	front.StartTLS()
	t.Cleanup(front.Close)

	o := commander{}
	file := filepath.Join(t.TempDir(), "token")
	harness.OK(t, os.WriteFile(file, []byte(secret.Raw+"\n"), 0o600))
	if _, says := o.run(t, 1, "subscriptions", "--admin", w.Portico.AdminURL); !strings.Contains(says, "PORTICO_ADMIN_TOKEN") {
		t.Errorf("without a token: %s", says)
	}
	if _, says := (commander{token: "wrong"}).run(t, 1, "subscriptions", "--config", w.Portico.ConfigFile); !strings.Contains(says, "does not accept this token") {
		t.Errorf("with a wrong token: %s", says)
	}
	if _, says := o.run(t, 1, "subscriptions", "--admin", front.URL); !strings.Contains(says, "--ca FILE") {
		t.Errorf("an authority that is not known: %s", says)
	}
	o.admin = front.URL
	asks := func(exit int, args ...string) (stdout, stderr string) {
		t.Helper()
		return o.run(t, exit, append(args, "--token-file", file, "--ca", authority.File)...)
	}
	text, _ := asks(0, "subscriptions", "-o", "json")
	var page struct{ Value []struct{ ID string } }
	if err := json.Unmarshal([]byte(text), &page); err != nil || len(page.Value) != 1 || page.Value[0].ID != harness.SubscriptionID {
		t.Errorf("%v\n%s", err, text)
	}
	asks(0, "ready")
	if text, _ := asks(0, "reload"); !strings.Contains(text, "Configuration 2") {
		t.Errorf("%s", text)
	}
	w.Portico.Write(t, w.Portico.Text(t, w.Config)+"wibble: 1\n")
	if _, says := asks(1, "reload"); !strings.Contains(says, "wibble") || !strings.Contains(says, "portico.yaml:") {
		t.Errorf("a configuration with a fault: %s", says)
	}
	if text, _ := asks(0, "sweep", "--dry-run"); !strings.Contains(text, "0 failures") {
		t.Errorf("%s", text)
	}
	for _, list := range []string{"fences", "doubts", "jobs list", "changes"} {
		asks(0, append(strings.Fields(list), "-o", "yaml")...)
	}
}

// The deletion of a group is watched to its end; another is cancelled.
func TestJobsAreWatchedAndCancelled(t *testing.T) {
	t.Parallel()
	w := newStubWorld(t, stubSettings)
	o := commander{}
	job := func(group string) (id string) {
		t.Helper()
		text, _ := o.run(t, 0, "jobs", "list", "--kind", "group-delete", "-o", "json", "--admin", w.Portico.AdminURL)
		var page struct {
			Value []struct{ ID, Subject, State string }
		}
		harness.OK(t, json.Unmarshal([]byte(text), &page))
		for _, j := range page.Value {
			if strings.HasSuffix(j.Subject, group) && j.State == "Waiting" {
				id = j.ID
			}
		}
		if id == "" {
			t.Fatalf("no job deletes %s:\n%s", group, text)
		}
		return id
	}
	for _, group := range []string{"watched", "cancelled"} {
		fill(t, w.World, group, map[string]string{stubThings + "a": "westus", stubThings + "slow": "westus"})
	}
	remove := w.stub.accept(http.MethodDelete, "westus", w.thing("watched", "slow"), "Location")
	w.deleteGroup(t, "watched").Want(t, 202)
	id := job("watched")
	watching := o.start(t, "jobs", "watch", id[len(id)-12:], "--admin", w.Portico.AdminURL)
	soon(t, "the watcher to see one of two go", func() bool { return strings.Contains(watching.Stderr(), "group-delete: 1 of 2") })
	remove.finish()
	if code := watching.ExitCode(t); code != 0 || !strings.Contains(watching.Stdout(), "Done") {
		t.Errorf("exit code %d\n%s%s", code, watching.Stdout(), watching.Stderr())
	}

	w.stub.accept(http.MethodDelete, "westus", w.thing("cancelled", "slow"), "Location")
	w.deleteGroup(t, "cancelled").Want(t, 202)
	id = job("cancelled")
	short := id[len(id)-12:]
	soon(t, "what is left, by the short name of the job", func() bool {
		text, _ := o.run(t, 0, "jobs", "show", short, "--admin", w.Portico.AdminURL)
		return strings.Contains(text, "It tries until ") && strings.Contains(text, "Left to delete, 1:") && strings.Contains(text, "/slow")
	})
	o.run(t, 0, "unstick", short, "--ask", "--admin", w.Portico.AdminURL)
	o.run(t, 0, "jobs", "cancel", id, "--admin", w.Portico.AdminURL)
	if text, _ := o.run(t, 1, "jobs", "watch", id, "--admin", w.Portico.AdminURL); !strings.Contains(text, "Cancelled") {
		t.Errorf("%s", text)
	}
}

// Whoever follows the feed is told of what comes, and at the end where to go on: nothing
// is missed in between.
func TestChangesAreFollowed(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{})
	o := commander{}
	following := o.start(t, "changes", "--watch", "-o", "json", "--config", w.Portico.ConfigFile)
	soon(t, "a line of a change", func() bool {
		w.PutGroup(t, "seen")
		return strings.Contains(following.Stdout(), "/resourceGroups/seen")
	})
	following.Stop(t, syscall.SIGINT)
	_, token, ok := strings.Cut(following.Stderr(), "--after ")
	if !ok {
		t.Fatalf("it does not say where to go on: %s", following.Stderr())
	}
	for line := range strings.Lines(following.Stdout()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("no JSON: %s", line)
		}
	}
	w.PutGroup(t, "missed")
	soon(t, "what came since", func() bool {
		text, _ := o.run(t, 0, "changes", "--after", strings.TrimSpace(token), "-o", "json", "--config", w.Portico.ConfigFile)
		return strings.Contains(text, "/resourceGroups/missed")
	})
	if text, _ := o.run(t, 0, "changes", "--resource", w.GroupPath("seen"), "--config", w.Portico.ConfigFile); !strings.Contains(text, "resourceGroups/write") {
		t.Errorf("the history of the group:\n%s", text)
	}
}

// On a terminal what is watched is drawn in one place, and Ctrl-C leaves the terminal as
// it was.
func TestWatchOnATerminal(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{})
	keyboard, screen, err := pty.Open()
	harness.OK(t, err)
	defer keyboard.Close()
	defer screen.Close()
	harness.OK(t, pty.Setsize(screen, &pty.Winsize{Cols: 80, Rows: 24}))
	// At Ctrl-C Linux first sends the signal, and then drops what the terminal has not shown
	// yet, which may be the last picture already.
	harness.OK(t, exec.CommandContext(t.Context(), "stty", "-F", screen.Name(), "noflsh").Run())
	before, err := term.GetState(int(screen.Fd()))
	harness.OK(t, err)
	c := exec.CommandContext(t.Context(), harness.Build(t).Portico, "jobs", "list", "--watch=100ms", "--config", w.Portico.ConfigFile)
	c.Stdin, c.Stdout, c.Stderr = screen, screen, screen
	c.Env = append(os.Environ(), "TERM=xterm", "NO_COLOR=1")
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	harness.OK(t, c.Start())
	shown := &transcript{}
	go func() { _, _ = io.Copy(shown, keyboard) }() // to the error that is its end
	const begin = "\x1b[H"
	soon(t, "three pictures", func() bool { return strings.Count(shown.String(), begin) >= 3 })
	if _, err := keyboard.WriteString("\x03"); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Errorf("after Ctrl-C: %v", err)
	}
	soon(t, "the last picture, which stays", func() bool {
		_, last, _ := strings.Cut(shown.String(), "\x1b[?1049l")
		return strings.Contains(last, "KIND") && strings.HasSuffix(last, "\n")
	})
	after, err := term.GetState(int(screen.Fd()))
	if err != nil || *after != *before {
		t.Errorf("the terminal has other settings: %v", err)
	}
	text := shown.String()
	for on, off := range map[string]string{"\x1b[?1049h": "\x1b[?1049l", "\x1b[?25l": "\x1b[?25h", "\x1b[?7l": "\x1b[?7h"} {
		if strings.Count(text, on) != 1 || strings.LastIndex(text, off) < strings.LastIndex(text, on) {
			t.Errorf("%q is not ended by %q", on, off)
		}
	}
	first := strings.Split(text, begin)[1]
	lines := strings.Split(strings.ReplaceAll(first, "\r\r\n", "\r\n"), "\r\n") // the terminal adds one
	if len(lines) != 24 || !strings.Contains(first, "notice") {
		t.Errorf("a picture of %d lines: %q", len(lines), first)
	}
	for _, line := range lines {
		if n := len([]rune(strings.TrimPrefix(line, "\x1b[K"))); n > 80 {
			t.Errorf("a line of %d columns: %q", n, line)
		}
	}
}

// transcript is what a terminal was sent.
type transcript struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *transcript) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(text)
}

func (s *transcript) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// The manual has a page for each command, and shells have what they complete by; neither
// asks a service.
func TestManualAndCompletion(t *testing.T) {
	t.Parallel()
	o := commander{}
	folder := filepath.Join(t.TempDir(), "man1")
	o.run(t, 0, "man", folder)
	for _, page := range []string{"portico.1", "portico-status.1", "portico-jobs-watch.1", "portico-serve.1"} {
		if text, err := os.ReadFile(filepath.Join(folder, page)); err != nil || !strings.HasPrefix(string(text), ".nh\n.TH") {
			t.Errorf("%s: %v", page, err)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		text, _ := o.run(t, 0, "completion", shell)
		script := filepath.Join(t.TempDir(), "completion."+shell)
		harness.OK(t, os.WriteFile(script, []byte(text), 0o600))
		err := exec.CommandContext(t.Context(), shell, "-n", script).Run() // reads it, and does nothing
		if err != nil && !errors.Is(err, exec.ErrNotFound) || !strings.Contains(text, "portico __complete") && !strings.Contains(text, "__complete") {
			t.Errorf("the completion of %s: %v", shell, err)
		}
	}
}
