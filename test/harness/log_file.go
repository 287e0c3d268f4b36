package harness

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// logFile is the path of the file that a process writes its standard error to. The process
// writes it itself: what it logged before it answered is there when the answer is, as it
// need not be where another goroutine copies from a pipe.
type logFile string

// receive gives the program a handle of the file. The caller closes it once the program
// has started.
func (l logFile) receive(t testing.TB, program *exec.Cmd) *os.File {
	t.Helper()
	file, err := os.OpenFile(string(l), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	OK(t, err)
	program.Stderr = file
	return file
}

// read returns everything written so far.
func (l logFile) read() (string, error) {
	text, err := os.ReadFile(string(l))
	return string(text), err
}

// String is read, or why that cannot be done.
func (l logFile) String() string {
	text, err := l.read()
	if err != nil {
		return err.Error()
	}
	return text
}

func (l logFile) tail(n int) string { return tail(l.String(), n) }

// trouble returns the lines that report a fault, the last n bytes of them: the reason
// for a failure may stand far before the end.
func (l logFile) trouble(n int) string {
	var found strings.Builder
	for line := range strings.Lines(l.String()) {
		for _, sign := range []string{`"outcome":"failed"`, `"outcome":"broken"`, `"level":"warn"`, `"level":"error"`} {
			if strings.Contains(line, sign) {
				found.WriteString(line)
				break
			}
		}
	}
	return tail(found.String(), n)
}

// tail returns the last n bytes of a text, from the start of a line.
func tail(text string, n int) string {
	if len(text) <= n {
		return text
	}
	text = text[len(text)-n:]
	if _, rest, ok := strings.Cut(text, "\n"); ok {
		text = rest
	}
	return "[…]\n" + text
}
