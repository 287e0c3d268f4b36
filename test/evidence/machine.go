package evidence

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
)

// Circumstances are when, where, by which command and with which versions a suite measured.
type Circumstances struct {
	Started  time.Time
	Command  string
	Machine  string
	Load     string // of the machine when it began
	Versions string
}

// Observe returns the circumstances as they are now. The versions are those of Portico and
// Go, and further ones as [VersionOf] gives them.
func Observe(command string, versions ...string) Circumstances {
	return Circumstances{
		Started: time.Now().UTC(), Command: command,
		Machine: fmt.Sprintf("%d × %s with %s of memory, %s", runtime.NumCPU(), field("/proc/cpuinfo", "model name"),
			field("/proc/meminfo", "MemTotal"), strings.TrimSpace(said("uname", "-sr"))),
		Load:     firstField("/proc/loadavg"),
		Versions: strings.Join(append([]string{"Portico " + revision(), "Go " + version(runtime.Version())}, versions...), ", "),
	}
}

// Brief says when, how and where extent was measured, such as "3 rounds".
func (c Circumstances) Brief(extent string) string {
	return fmt.Sprintf("Measured %s by `%s`, %s, on %s.", c.Started.Format("2006-01-02 15:04 MST"), c.Command, extent, c.Machine)
}

// Describe adds the machine's load and the versions to Brief.
func (c Circumstances) Describe(extent string) string {
	return fmt.Sprintf("%s The load average was %s at the start.\n\nVersions: %s.", c.Brief(extent), c.Load, c.Versions)
}

// VersionOf returns a name with the version that its program prints about itself.
func VersionOf(name, program string, args ...string) string {
	return name + " " + version(said(program, args...))
}

// PostgresVersion returns the version of the latest PostgreSQL that is installed.
func PostgresVersion() string {
	program := "postgres"
	if found, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres"); err == nil && len(found) > 0 {
		program = found[len(found)-1]
	}
	return VersionOf("PostgreSQL", program, "--version")
}

// revision is the commit that Portico was built from, if it was built here.
func revision() string {
	root := strings.TrimSpace(said("git", "rev-parse", "--show-toplevel"))
	if program := os.Getenv("PORTICO_BIN"); program != "" && !strings.HasPrefix(program, filepath.Join(root, ".bin")) {
		return "of " + program
	}
	commit := strings.TrimSpace(said("git", "rev-parse", "--short=12", "HEAD"))
	if !commitID.MatchString(commit) {
		return unknown
	}
	if changes := said("git", "status", "--porcelain", "--", ":/", ":(top,exclude)docs", ":(top,exclude,glob)test/**/README.md"); changes != "" {
		return commit + " with changes"
	}
	return commit
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
