package main

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

const machine = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/rg/providers/Contoso.Compute/virtualMachines/vm1?api-version=2024-01-01"

// started is one contoso process.
type started struct {
	*exec.Cmd
	url    string
	stdout *bufio.Reader
	stderr *bytes.Buffer
}

func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "contoso")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}

func start(t *testing.T, program string, args ...string) *started {
	t.Helper()
	p := &started{Cmd: exec.CommandContext(t.Context(), program, args...), stderr: &bytes.Buffer{}}
	p.Stderr = p.stderr
	pipe, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p.ProcessState == nil {
			_ = p.Process.Kill()
			_ = p.Wait()
		}
	})
	p.stdout = bufio.NewReader(pipe)
	line, err := p.stdout.ReadString('\n')
	m := regexp.MustCompile(`^contoso: serving westus on (http://127\.0\.0\.1:\d+)\n$`).FindStringSubmatch(line)
	if m == nil {
		_ = p.Wait()
		t.Fatalf("printed %q (%v): %s", line, err, p.stderr)
	}
	p.url = m[1]
	return p
}

func (p *started) do(t *testing.T, method, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, p.url+machine, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	a, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, string(b)
}

func TestAcknowledgedWritesOutliveAKill(t *testing.T) {
	program, state := build(t), filepath.Join(t.TempDir(), "state")
	args := []string{"--region", "westus", "--state", state, "--log-level", "info"}
	p := start(t, program, args...)
	status, put := p.do(t, "PUT", `{"location":"westus"}`)
	if status != http.StatusCreated {
		t.Fatalf("PUT: %d %s", status, put)
	}
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.Wait() // it tells of the kill

	p = start(t, program, args...)
	if status, got := p.do(t, "GET", ""); status != http.StatusOK || got != put {
		t.Errorf("GET: %d %s, want %s", status, got, put)
	}
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(p.stdout)
	if err != nil || len(rest) != 0 {
		t.Errorf("more on stdout: %q (%v)", rest, err)
	}
	if err := p.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v: %s", err, p.stderr)
	}
	if log := p.stderr.String(); !strings.Contains(log, `"msg":"request"`) || !strings.Contains(log, `"status":200`) || strings.Contains(log, "api-version") {
		t.Errorf("log %q", log)
	}
}

func TestBreaksAreTaken(t *testing.T) {
	program := build(t)
	p := start(t, program, "--region", "westus", "--break", "delete-absent-404,etag-strong", "--habit", "add-defaults")
	if status, body := p.do(t, "DELETE", ""); status != http.StatusNotFound {
		t.Errorf("DELETE: %d %s", status, body)
	}
	if _, body := p.do(t, "PUT", `{"location":"westus"}`); strings.Contains(body, "W/") || !strings.Contains(body, `"enabled":true`) {
		t.Errorf("PUT: %s", body)
	}
	out, err := exec.CommandContext(t.Context(), program, "--region", "westus", "--break", "gravity").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "delete-absent-404") {
		t.Errorf("an unknown break: %v, %s", err, out)
	}
}

func TestFlagsAreJudged(t *testing.T) {
	program := build(t)
	for _, args := range [][]string{{}, {"--region", ""}, {"--region", "westus", "--page-size", "-1"}, {"--region", "westus", "--log-level", "loud"}, {"--region", "westus", "x"}, {"--region", "westus", "--listen", "nowhere"}, {"--region", "westus", "--break", "etag-strong,gravity"}} {
		out, err := exec.CommandContext(t.Context(), program, args...).Output()
		if err == nil || len(out) != 0 {
			t.Errorf("%q: %v, stdout %q", args, err, out)
		}
	}
}
