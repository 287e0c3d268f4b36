package harness

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func shell(t *testing.T, script string) *Process {
	t.Helper()
	return Start(t, "sh", t.TempDir(), "/bin/sh", "-c", script)
}

func TestProcessLinesAndExitCode(t *testing.T) {
	p := shell(t, `echo first; echo "ready: 1"; echo "ready: 2"; echo oops >&2; exit 3`)
	if line := p.WaitLine(t, "ready: "); line != "ready: 1" {
		t.Errorf("line %q", line)
	}
	if code := p.ExitCode(t); code != 3 {
		t.Errorf("exit code %d", code)
	}
	if p.Stdout() != "first\nready: 1\nready: 2\n" || p.Stderr() != "oops\n" {
		t.Errorf("stdout %q, stderr %q", p.Stdout(), p.Stderr())
	}
}

func TestProcessKillAndStop(t *testing.T) {
	killed := shell(t, `trap '' TERM; echo up; while :; do sleep 1; done`)
	killed.WaitLine(t, "up")
	killed.Kill(t)
	if !killed.Ended() || killed.ExitCode(t) != -1 {
		t.Errorf("after Kill: ended %v", killed.Ended())
	}

	stopped := shell(t, `trap 'exit 0' INT; echo up; while :; do sleep 0.05; done`)
	stopped.WaitLine(t, "up")
	stopped.Stop(t, syscall.SIGINT)
	if code := stopped.ExitCode(t); code != 0 {
		t.Errorf("exit code %d after SIGINT", code)
	}
}

// recorder is a test that records its failure instead of failing.
type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Helper()                   {}
func (r *recorder) Failed() bool              { return len(r.errors) > 0 }
func (r *recorder) Logf(string, ...any)       {}
func (r *recorder) Errorf(f string, _ ...any) { r.errors = append(r.errors, f) }

// A program that reports a race or a panic must fail the test, even if its answers are
// right.
func TestProcessReportsRacesAndPanics(t *testing.T) {
	for _, sign := range []string{"WARNING: DATA RACE", "panic: x", "http: panic serving 1"} {
		r := &recorder{TB: t}
		p := &Process{stdout: newTranscript(), stderr: logOf(t, "line\n"+sign+"\n"), ended: make(chan struct{})}
		close(p.ended)
		p.cleanUp(r)
		if len(r.errors) == 0 {
			t.Errorf("%q passed unnoticed", sign)
		}
	}
}

// A log that cannot be read may have had a race in it.
func TestProcessReportsALostLog(t *testing.T) {
	r := &recorder{TB: t}
	p := &Process{stdout: newTranscript(), stderr: logFile(filepath.Join(t.TempDir(), "gone")), ended: make(chan struct{})}
	close(p.ended)
	p.cleanUp(r)
	if len(r.errors) == 0 {
		t.Error("it passed unnoticed")
	}
}

// logOf is a log file of this text.
func logOf(t *testing.T, text string) logFile {
	t.Helper()
	l := logFile(filepath.Join(t.TempDir(), "log"))
	OK(t, os.WriteFile(string(l), []byte(text), 0o600))
	return l
}

func TestLogFileTrouble(t *testing.T) {
	l := logOf(t, `{"level":"warn","n":1}`+"\n"+`{"level":"info","outcome":"answered"}`+"\n"+`{"level":"info","outcome":"failed"}`+"\n")
	if got := l.trouble(1000); got != `{"level":"warn","n":1}`+"\n"+`{"level":"info","outcome":"failed"}`+"\n" {
		t.Errorf("trouble %q", got)
	}
	if got := logOf(t, "").trouble(1000); got != "" {
		t.Errorf("trouble %q", got)
	}
}

func TestLogFileTail(t *testing.T) {
	l := logOf(t, "a long first line\nsecond\nthird\n")
	if got := l.tail(10); got != "[…]\nthird\n" {
		t.Errorf("tail %q", got)
	}
	if got := l.tail(1000); !strings.HasPrefix(got, "a long") {
		t.Errorf("tail %q", got)
	}
}

// What a process wrote to standard error before it said so is there at once.
func TestProcessStderrIsThereWithTheAnswer(t *testing.T) {
	for range 50 {
		p := shell(t, `for i in 1 2 3 4 5 6 7 8 9; do echo line $i >&2; done; echo written; exec sleep 60`)
		p.WaitLine(t, "written")
		if text := p.Stderr(); strings.Count(text, "\n") != 9 {
			t.Errorf("%q", text)
		}
		p.Kill(t)
	}
}

// Standard error is appended to a file that the caller names, and a panic in it fails the
// test.
func TestProcessLogsToAFile(t *testing.T) {
	log := logOf(t, "before\n")
	r := &recorder{TB: t}
	p := startLogging(t, string(log), "sh", t.TempDir(), "/bin/sh", nil, "-c", "echo oops, panic: x >&2; echo written; exec sleep 60")
	p.WaitLine(t, "written")
	if text := p.Stderr(); text != "before\noops, panic: x\n" {
		t.Errorf("%q", text)
	}
	p.Kill(t)
	p.cleanUp(r)
	if len(r.errors) != 1 {
		t.Errorf("%d errors", len(r.errors))
	}
	if err := os.Truncate(string(log), 0); err != nil { // or it fails this test too
		t.Fatal(err)
	}
}
