package main

import (
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
