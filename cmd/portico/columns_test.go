package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"
	"github.com/rivo/uniseg"
	"github.com/spf13/cobra"

	"portico/cmd/portico/operator"
)

// narrow is the width of a terminal beside an editor.
const narrow = 60

// onTerminal runs a command line with both outputs on a narrow terminal, and returns what
// it writes there.
func onTerminal(t *testing.T, line ...string) (string, error) {
	t.Helper()
	keyboard, screen, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer keyboard.Close()
	if err := pty.Setsize(screen, &pty.Winsize{Cols: narrow, Rows: 24}); err != nil {
		t.Fatal(err)
	}
	shown := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(keyboard) // to the error that is its end
		shown <- string(text)
	}()
	c := root(screen, screen)
	c.SetArgs(line)
	c.SetOut(screen)
	c.SetErr(screen)
	err = c.ExecuteContext(t.Context())
	screen.Close()
	return strings.ReplaceAll(<-shown, "\r\n", "\n"), err
}

// wantNarrow looks for lines that a narrow terminal would wrap. Only one word may be longer.
func wantNarrow(t *testing.T, what, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if w := uniseg.StringWidth(strings.TrimRight(line, "\n")); w > narrow && len(strings.Fields(line)) > 1 {
			t.Errorf("%s has a line of %d columns:\n%s", what, w, line)
		}
	}
}

// The help of each command fits a narrow terminal, and loses no word.
func TestHelpFitsANarrowTerminal(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	t.Setenv("TERM", "xterm")
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		path := strings.Fields(c.CommandPath())[1:]
		text, err := onTerminal(t, append(path, "--help")...)
		if err != nil {
			t.Fatal(err)
		}
		wantNarrow(t, c.CommandPath(), text)
		if got, want := strings.Join(strings.Fields(text), " "), strings.Join(strings.Fields(c.Long), " "); !strings.Contains(got, want) {
			t.Errorf("%s lost a word of its help:\n%s", c.CommandPath(), text)
		}
		for _, below := range c.Commands() {
			if below.IsAvailableCommand() {
				visit(below)
			}
		}
	}
	visit(root(io.Discard, io.Discard))
}

// check shows faults, warnings and the table of routes on a narrow terminal.
func TestCheckFitsANarrowTerminal(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	t.Setenv("TERM", "xterm")
	text, err := onTerminal(t, "check", "--config", "../../configs/example.yaml")
	if err != nil || strings.Count(text, "\n") < 10 || !strings.HasPrefix(text, "NAMESPACE") {
		t.Errorf("%v\n%s", err, text)
	}
	wantNarrow(t, "check", text)
	example, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(example), "```yaml portico.yaml\n")
	config, _, _ := strings.Cut(rest, "```")
	file := filepath.Join(t.TempDir(), "c.yaml")
	for change, want := range map[string]string{
		"  - {name: eastus}\n  - {name: mars}\n":                     "no provider has an endpoint in region mars",
		"  - {name: eastus}\n  - {name: mars, displayName: ruber}\n": "is not understood as location mars",
		"  - {name: eastus}\n  - {name: eastus}\n":                   "is given twice",
	} {
		if err := os.WriteFile(file, []byte(strings.Replace(config, "  - {name: eastus}\n", change, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		text, err := onTerminal(t, "check", "--strict", "--config", file)
		if !errors.Is(err, operator.ErrReported) || !strings.Contains(strings.Join(strings.Fields(text), " "), want) {
			t.Errorf("%v, without %q:\n%s", err, want, text)
		}
		wantNarrow(t, "check", text)
	}
}
