package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const commandsPage = "../../docs/commands.md"

// The page of commands is what the commands say of themselves.
func TestCommandsPage(t *testing.T) {
	var b strings.Builder
	b.WriteString(commandsHead)
	for _, c := range root(io.Discard, io.Discard).Commands() {
		describe(&b, c)
	}
	if *update {
		if err := os.WriteFile(commandsPage, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(commandsPage)
	if err != nil || string(page) != b.String() {
		t.Errorf("docs/commands.md is not what the commands say (%v): go test ./cmd/portico -run TestCommandsPage -update", err)
	}
}

// Each command, and each flag, has a text that says what it is for.
func TestCommandsAreDescribed(t *testing.T) {
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		if c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s is described by %q", c.CommandPath(), c.Short)
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" {
				t.Errorf("%s --%s is not described", c.CommandPath(), f.Name)
			}
		})
		for _, below := range c.Commands() {
			visit(below)
		}
	}
	for _, c := range root(io.Discard, io.Discard).Commands() {
		visit(c)
	}
}

const commandsHead = `# Commands

For people at a terminal. [operations.md](operations.md) says when to use which. This page is generated from the help
of the commands; ` + "`portico man DIR`" + ` writes the same as manual pages, and ` + "`portico completion bash`" + ` (zsh, fish) a script for
completion in a shell: regions, jobs, sinks and subscriptions come from the service, if it answers within a second.

## Which service

Most commands ask a running service by its admin listener:

| | |
|---|---|
| ` + "`--admin URL`" + ` | the listener's URL, such as http://127.0.0.1:8081; https if a proxy in front of it uses TLS |
| ` + "`--config FILE`" + ` | the configuration that the service runs with |
| ` + "`PORTICO_ADMIN`" + ` | the environment variable: as ` + "`--admin`" + `, unless one of the two flags is given |
| nothing | http://127.0.0.1:8081, only for commands that change nothing |
| ` + "`--token-file FILE`" + ` | contains the admin token; without it ` + "`PORTICO_ADMIN_TOKEN`" + ` is used |
| ` + "`--ca FILE`" + ` | authorities (PEM) that sign the listener's certificate; no others are trusted |

## How they answer

| | |
|---|---|
| ` + "`-o table`" + ` | the default: fits the terminal, by shortening and leaving out columns; times as ages |
| ` + "`-o wide`" + ` | all columns, nothing shortened, times in full |
| ` + "`-o json`, `-o yaml`" + ` | the service's answer, member by member; the pages of a list are joined |
| ` + "`--limit N`" + ` | shows at most N rows; by default 1000 in a table |
| ` + "`--watch`, `--watch=5s`" + ` | repeats until Ctrl-C |

If the output is not a terminal, tables are neither shortened nor coloured; ` + "`NO_COLOR`" + ` turns colours off everywhere. Progress
and hints go to standard error. Exit status 0: success. 1: failure; standard error has the reason and what to do next. Other
exit statuses are described with their commands.
`

// Flags that the head of the page tells of.
var (
	commonFlags  = []string{"admin", "config", "token-file", "ca", "output", "limit", "watch", "help"}
	commonPhrase = "The service is found by --admin"
)

// describe writes of a command and those below it.
func describe(b *strings.Builder, c *cobra.Command) {
	if c.Name() == "completion" || c.Name() == "help" || c.Hidden {
		return
	}
	depth := strings.Count(c.CommandPath(), " ")
	fmt.Fprintf(b, "\n%s %s\n\n", strings.Repeat("#", depth+1), c.CommandPath())
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(b, "%s\n", paragraphs(c))
	} else {
		fmt.Fprintf(b, "`%s`\n\n%s\n", c.UseLine(), paragraphs(c))
	}
	if c.Example != "" {
		fmt.Fprintf(b, "\n```sh\n%s\n```\n", strings.ReplaceAll(strings.TrimSpace(c.Example), "\n  ", "\n"))
	}
	asks := c.Flags().Lookup("admin") != nil && c.Flags().Lookup("token-file") != nil
	var flags []string
	c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		if asks && slices.Contains(commonFlags, f.Name) && f.Name != "watch" || f.Name == "help" {
			return
		}
		if f.Name == "watch" && f.NoOptDefVal != "true" {
			return
		}
		flags = append(flags, flagLine(f))
	})
	if len(flags) > 0 {
		fmt.Fprintf(b, "\n| | |\n|---|---|\n%s", strings.Join(flags, ""))
	}
	for _, below := range c.Commands() {
		describe(b, below)
	}
}

// escapePipes keeps what stands in a cell of a table from ending it.
var escapePipes = strings.NewReplacer("|", `\|`)

func flagLine(f *pflag.Flag) string {
	name := "--" + f.Name
	value, usage := pflag.UnquoteUsage(f)
	if value != "" {
		name += " " + value
	}
	if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" && f.DefValue != "[]" && f.DefValue != "0s" {
		usage += "; default " + f.DefValue
	}
	return fmt.Sprintf("| `%s` | %s |\n", escapePipes.Replace(name), escapePipes.Replace(usage))
}

// paragraphs are those of a command's long text, less what the head of the page says.
func paragraphs(c *cobra.Command) string {
	text := c.Long
	if text == "" {
		text = c.Short + "."
	}
	var kept []string
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		if !strings.HasPrefix(paragraph, commonPhrase) {
			kept = append(kept, paragraph)
		}
	}
	return strings.Join(kept, "\n\n")
}

// Each command is in a group and has an example, and each example is a command line. The
// flags' values are not judged.
func TestCommandsHaveExamples(t *testing.T) {
	commands := root(io.Discard, io.Discard)
	if commands.Example != "" {
		t.Errorf("help.txt has lines that name no command:%s", commands.Example)
	}
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for _, below := range c.Commands() {
			if below.IsAvailableCommand() {
				visit(below)
			}
		}
		if c.HasAvailableSubCommands() {
			return // such as portico jobs, which is portico jobs list
		}
		if c.Example == "" {
			t.Errorf("%s has no example in help.txt", c.CommandPath())
		}
		for line := range strings.Lines(c.Example) {
			words, err := shellWords(line)
			if err == nil {
				err = takes(words[1:])
			}
			if err != nil {
				t.Errorf("%s: %v", line, err)
			}
		}
	}
	for _, c := range commands.Commands() {
		if c.IsAvailableCommand() && c.GroupID == "" {
			t.Errorf("%s is in no group of help.txt", c.CommandPath())
		}
		visit(c)
	}
}

// shellWords splits a line with quotes into words.
func shellWords(line string) ([]string, error) {
	r := csv.NewReader(strings.NewReader(strings.TrimSpace(line)))
	r.Comma = ' '
	return r.Read()
}

// Each command that answers has -o json; those that do not answer are listed here.
func TestAnswersAreReadableByPrograms(t *testing.T) {
	silent := []string{"portico serve", "portico demo", "portico ready", "portico man", "portico reference"}
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for _, below := range c.Commands() {
			visit(below)
		}
		if c.Runnable() && (c.Flags().Lookup("output") == nil) != slices.Contains(silent, c.CommandPath()) {
			t.Errorf("%s: -o is %v", c.CommandPath(), c.Flags().Lookup("output") != nil)
		}
	}
	visit(root(io.Discard, io.Discard))
}
