package e2e

import (
	"database/sql"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"

	"portico/test/harness"
)

// textLine is a line of the log for people; its fields are JSON.
var textLine = regexp.MustCompile(`^\d\d:\d\d:\d\d (DEBUG|INFO|WARN|ERROR) [^{}]*( \{.*\})?$`)

// onTerminal is a program on a terminal of its own, where Ctrl-C is a key.
type onTerminal struct {
	command  *exec.Cmd
	keyboard *os.File
	shown    *transcript
}

// startOnTerminal runs portico on a terminal.
func startOnTerminal(t *testing.T, dir string, args ...string) onTerminal {
	t.Helper()
	keyboard, screen, err := pty.Open()
	harness.OK(t, err)
	t.Cleanup(func() { keyboard.Close() })
	c := exec.CommandContext(t.Context(), harness.Build(t).Portico, args...)
	c.Dir, c.Stdin, c.Stdout, c.Stderr = dir, screen, screen, screen
	c.Env = append(os.Environ(), "TERM=xterm", "NO_COLOR=1")
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	harness.OK(t, c.Start())
	screen.Close()
	o := onTerminal{c, keyboard, &transcript{}}
	go func() { _, _ = io.Copy(o.shown, keyboard) }() // to the error that is its end
	return o
}

// interrupt presses Ctrl-C.
func (o onTerminal) interrupt(t *testing.T) {
	t.Helper()
	_, err := o.keyboard.WriteString("\x03")
	harness.OK(t, err)
}

// On a terminal the log is text, and Ctrl-C says what is waited for; a second one ends it.
// Elsewhere the log is JSON, unless the configuration asks for text.
func TestTheLogOfATerminal(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Drain: "{delay: 0s, limit: 10m}"}})
	w.PutGroup(t, "rg")
	p, at := w.Portico, w.ResourcePath("rg", machines+"vm")+"?api-version="+harness.Version
	if lines := linesOf(t, p.Log()); len(lines) == 0 {
		t.Error("the log is empty")
	}
	p.Do(t, harness.Request{Method: http.MethodPut, Path: at, Body: body("westus")}).Want(t, 201)
	w.Contoso("westus").ForgetRequests(t)
	p.Stop(t)

	gateway := startOnTerminal(t, filepath.Dir(p.ConfigFile), "serve", "--config", p.ConfigFile)
	soon(t, "it serves", func() bool { return strings.Contains(gateway.shown.String(), " serving ") })
	go func() { // to the end of the gateway
		_, _ = p.Try(t.Context(), harness.Request{Path: at, Header: harness.Header("X-Contoso-Fault", "stall")})
	}()
	soon(t, "the read is at the provider", func() bool { return len(w.Contoso("westus").Requests(t)) > 0 })
	gateway.interrupt(t)
	soon(t, "the sentence about the request", func() bool {
		return strings.Contains(gateway.shown.String(), "waiting for 1 request and 0 jobs; another signal (Ctrl-C) ends it at once")
	})
	gateway.interrupt(t)
	if err := gateway.command.Wait(); err == nil {
		t.Error("the second Ctrl-C was not the end")
	}
	for line := range strings.Lines(gateway.shown.String()) {
		line = strings.ReplaceAll(strings.TrimSpace(line), "^C", "")
		if line != "" && !textLine.MatchString(line) {
			t.Errorf("not a line of text: %q", line)
		}
	}

	p.Write(t, p.Text(t, w.Config)+"log: {format: text}\n")
	text := harness.Start(t, "portico serve", filepath.Dir(p.ConfigFile), harness.Build(t).Portico, "serve", "--config", p.ConfigFile)
	soon(t, "text in a file", func() bool { return strings.Contains(text.Stderr(), " INFO serving {") })
	text.Stop(t, syscall.SIGTERM)
}

// A start that fails because something else is there says what, and what to do.
func TestStartsNameWhatIsInUse(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{})
	p := w.Portico
	refused := func(dir string, args ...string) string {
		t.Helper()
		second := harness.Start(t, "portico", dir, harness.Build(t).Portico, args...)
		if code := second.ExitCode(t); code != 1 {
			t.Errorf("exit code %d", code)
		}
		return strings.Join(strings.Fields(second.Stderr()), " ")
	}
	wants := func(text string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if !strings.Contains(text, part) {
				t.Errorf("without %q: %s", part, text)
			}
		}
	}
	wants(refused(filepath.Dir(p.ConfigFile), "serve", "--config", p.ConfigFile), strings.TrimPrefix(p.URL, "http://")+" is in use", "ss -ltnp", "server.listen")

	dir := t.TempDir()
	startDemo(t, dir)
	wants(refused(dir, "demo", "--listen", strings.TrimPrefix(p.URL, "http://")), "is in use", "--listen")
	wants(refused(dir, "demo", "--listen", harness.FreeAddress(t), "--admin", harness.FreeAddress(t), "--data", "data"), "the folder data", "--data FOLDER")

	p.Stop(t)
	db, err := sql.Open("sqlite", p.Database)
	harness.OK(t, err)
	defer db.Close()
	held, err := db.Conn(t.Context())
	harness.OK(t, err)
	_, err = held.ExecContext(t.Context(), "BEGIN EXCLUSIVE")
	harness.OK(t, err)
	wants(refused(filepath.Dir(p.ConfigFile), "serve", "--config", p.ConfigFile), "database is locked", "fuser "+p.Database, "store.dsn")
}
