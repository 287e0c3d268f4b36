package compare

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"portico/test/bench/peers"
)

// threads is wrk's number of threads, at most half of the processors. It is a power of
// two, which divides the number of requests: no two threads then write one resource at
// the same time.
func threads() int {
	n := 1
	for 4*n <= runtime.NumCPU() && n < callers {
		n *= 2
	}
	return n
}

// circumstances are when, where and with which versions the run measured.
type circumstances struct {
	begun    time.Time
	command  string
	machine  string
	load     string // of the machine when it began
	versions string
}

func observe(command string) circumstances {
	return circumstances{
		begun: time.Now().UTC(), command: command,
		machine: fmt.Sprintf("%d × %s with %s of memory, %s", runtime.NumCPU(), field("/proc/cpuinfo", "model name"),
			field("/proc/meminfo", "MemTotal"), strings.TrimSpace(said("uname", "-sr"))),
		load: firstField("/proc/loadavg"),
		versions: strings.Join([]string{
			"Portico " + revision(),
			"Go " + version(runtime.Version()),
			"nginx " + version(said(peers.Program("nginx"), "-v")),
			"HAProxy " + version(said(peers.Program("haproxy"), "-v")),
			"Caddy " + version(said(peers.Program("caddy"), "version")),
			"PostgreSQL " + version(said(postgres(), "--version")),
			"wrk " + version(said(peers.Program("wrk"), "-v")),
			"h2load " + version(said(peers.Program("h2load"), "--version")),
		}, ", "),
	}
}

// revision is the commit that Portico was built from.
func revision() string {
	if program := os.Getenv("PORTICO_BIN"); program != "" {
		return "of " + program
	}
	commit := strings.TrimSpace(said("git", "rev-parse", "--short=12", "HEAD"))
	if !commitID.MatchString(commit) {
		return unknown
	}
	if changes := said("git", "status", "--porcelain", "--", ":/", ":(top,exclude)docs"); changes != "" {
		return commit + " with changes"
	}
	return commit
}

func postgres() string {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil || len(found) == 0 {
		return "postgres"
	}
	return found[len(found)-1]
}

// unknown stands for what cannot be read.
const unknown = "unknown"

var (
	commitID = regexp.MustCompile("^[0-9a-f]{12}$")
	numbers  = regexp.MustCompile(`\d+(\.\d+)+`)
)

// version finds the first dotted number in what a program prints about itself.
func version(text string) string {
	if found := numbers.FindString(text); found != "" {
		return found
	}
	return unknown
}

// said returns what a program prints on either output, whatever its exit status: wrk
// exits with 1 after it has printed its version.
func said(program string, args ...string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	output, _ := exec.CommandContext(ctx, program, args...).CombinedOutput()
	return string(output)
}

// field is the value of a "name : value" in a file of the kernel.
func field(file, name string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return unknown
	}
	for line := range strings.Lines(string(text)) {
		if key, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return unknown
}

func firstField(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return unknown
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
