package harness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Bounds of every wait for a process. They are generous because the programs may be
// built with the race detector and share two cores with other tests and programs; no
// test measures time by them.
const (
	startBound = 3 * time.Minute
	stopBound  = 2 * time.Minute
)

// Process is a program that a test started. It ends with the test at the latest.
type Process struct {
	name   string
	cmd    *exec.Cmd
	stdout *transcript
	stderr logFile
	ended  chan struct{} // closed after Wait returned
	err    error         // of Wait; read only after ended
}

// Start runs a program in folder dir, with args, until the test ends. Messages call it
// name. Prefer [StartPortico] and [StartContoso].
func Start(t testing.TB, name, dir, program string, args ...string) *Process {
	t.Helper()
	return startWith(t, name, dir, program, nil, args...)
}

// startWith is Start with more in the environment.
func startWith(t testing.TB, name, dir, program string, environment []string, args ...string) *Process {
	t.Helper()
	return startLogging(t, "", name, dir, program, environment, args...)
}

// startLogging is startWith with standard error appended to the file log, or to one of its
// own if that is "".
func startLogging(t testing.TB, log, name, dir, program string, environment []string, args ...string) *Process {
	t.Helper()
	if log == "" {
		log = filepath.Join(t.TempDir(), "stderr")
	}
	p := &Process{
		name:   name,
		cmd:    exec.Command(program, args...),
		stdout: newTranscript(),
		stderr: logFile(log),
		ended:  make(chan struct{}),
	}
	p.cmd.Dir, p.cmd.Stdout = dir, p.stdout
	defer p.stderr.receive(t, p.cmd).Close() // the process has its own
	// The race detector would delay each process's end by a second, waiting for further
	// races; with five processes that is long for a test.
	p.cmd.Env = append(append(os.Environ(), "GORACE=atexit_sleep_ms=10"), environment...)
	dieWithParent(p.cmd)
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("starting %s: %v", name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() { p.cleanUp(t) })
	return p
}

// WaitLine returns the first line of standard output with this prefix. It ends the test
// if the process ends or the bound passes first.
func (p *Process) WaitLine(t testing.TB, prefix string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startBound)
	defer cancel()
	line, err := p.stdout.waitLine(ctx, prefix, p.ended)
	if err != nil {
		t.Fatalf("%s: %v\nstandard output:\n%s\nstandard error:\n%s", p.name, err, tail(p.stdout.String(), 4096), p.stderr.tail(4096))
	}
	return line
}

// Pid is the process's id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Stdout is what the process has printed on its standard output so far.
func (p *Process) Stdout() string { return p.stdout.String() }

// Stderr is what the process has printed on its standard error so far, all that it wrote
// before an answer that the caller has got.
func (p *Process) Stderr() string { return p.stderr.String() }

// Kill ends the process by SIGKILL and returns when it is gone.
func (p *Process) Kill(t testing.TB) {
	t.Helper()
	p.end(t, syscall.SIGKILL)
}

// Stop asks the process to end by sig (SIGINT or SIGTERM) and fails the test
// when it does not exit with code 0 within the bound.
func (p *Process) Stop(t testing.TB, sig syscall.Signal) {
	t.Helper()
	p.end(t, sig)
	if p.err != nil {
		t.Errorf("%s, after %v: %v\nstandard error:\n%s", p.name, sig, p.err, p.stderr.tail(4096))
	}
}

// Pause stops the process, with connections left open, until [Process.Resume]. It returns
// once the process stands still.
func (p *Process) Pause(t testing.TB) {
	t.Helper()
	if err := p.signal(syscall.SIGSTOP); err != nil {
		t.Fatalf("%s: %v", p.name, err)
	}
	Await(t, stopBound, p.name+" stands still", func() bool { return p.Ended() || standsStill(p.Pid()) })
}

// standsStill reports whether a process has stopped or ended, with all of its threads: on a
// busy machine a signal takes effect only when a thread gets its turn.
func standsStill(pid int) bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		return false
	}
	for _, file := range threads {
		if state := stateIn(file); state != "T" && !ended(state) {
			return false
		}
	}
	return true
}

// Resume continues a paused process.
func (p *Process) Resume(t testing.TB) {
	t.Helper()
	if err := p.signal(syscall.SIGCONT); err != nil {
		t.Fatalf("%s: %v", p.name, err)
	}
}

// Ended reports whether the process has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// ExitCode waits for the process to end by itself and returns its exit code, or -1 if a
// signal ended it.
func (p *Process) ExitCode(t testing.TB) int {
	t.Helper()
	return p.ExitCodeWithin(t, stopBound)
}

// ExitCodeWithin is ExitCode for a program whose work takes longer than an end does.
func (p *Process) ExitCodeWithin(t testing.TB, bound time.Duration) int {
	t.Helper()
	if !p.waitEnd(bound) {
		t.Fatalf("%s has not ended within %v", p.name, bound)
	}
	var exit *exec.ExitError
	if p.err != nil && !errors.As(p.err, &exit) {
		t.Fatalf("%s: %v", p.name, p.err)
	}
	return p.cmd.ProcessState.ExitCode()
}

func (p *Process) end(t testing.TB, sig syscall.Signal) {
	t.Helper()
	if err := p.signal(sig); err != nil {
		t.Fatalf("%s: %v", p.name, err)
	}
	if !p.waitEnd(stopBound) {
		_ = p.signal(syscall.SIGQUIT) // for the goroutines, on standard error
		if !p.waitEnd(5 * time.Second) {
			_ = p.signal(syscall.SIGKILL)
		}
		t.Fatalf("%s has not ended within %v of %v", p.name, stopBound, sig)
	}
}

var errEnded = errors.New("exit code 0")

// signal sends sig unless the process has been waited for: its number may belong to
// another process by then.
func (p *Process) signal(sig syscall.Signal) error {
	if p.Ended() {
		return fmt.Errorf("has ended before: %w", cmp.Or(p.err, errEnded))
	}
	return p.cmd.Process.Signal(sig)
}

func (p *Process) waitEnd(bound time.Duration) bool {
	timer := time.NewTimer(bound)
	defer timer.Stop()
	select {
	case <-p.ended:
		return true
	case <-timer.C:
		return false
	}
}

func (p *Process) cleanUp(t testing.TB) {
	if !p.Ended() {
		_ = p.signal(syscall.SIGTERM)
		_ = p.signal(syscall.SIGCONT) // it may be paused
		if !p.waitEnd(stopBound) {
			_ = p.signal(syscall.SIGKILL)
			p.waitEnd(stopBound)
			t.Errorf("%s did not end within %v of SIGTERM and was killed", p.name, stopBound)
		}
	}
	text, err := p.stderr.read()
	if err != nil {
		t.Errorf("%s: its log: %v", p.name, err)
	}
	for _, sign := range []string{"WARNING: DATA RACE", "panic: ", "fatal error: ", "http: panic serving"} {
		if strings.Contains(text, sign) {
			t.Errorf("%s reported %q", p.name, sign)
		}
	}
	if t.Failed() {
		t.Logf("%s, standard error:\n%s", p.name, p.stderr.tail(16<<10))
		if trouble := p.stderr.trouble(16 << 10); trouble != "" {
			t.Logf("%s, what it says of trouble:\n%s", p.name, trouble)
		}
	}
}
