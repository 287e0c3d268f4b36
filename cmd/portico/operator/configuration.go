package operator

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"portico/cmd/portico/terminal"
	"portico/gateway/admin/api"
)

const configurationPath = "/admin/configuration"

func configurationCommand(p Program) *cobra.Command {
	a := newServiceCommand(p)
	c := &cobra.Command{
		Use:   "configuration",
		Short: "Show the settings in use",
		Long: `Show the settings in use at the gateway that answers, including the defaults of settings
that its file leaves out. REDACTED replaces values that may be secret, or name a person.

` + findingService,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.show(c.Context(), showOne(a, configurationPath, nil, func(to io.Writer, in api.ConfigurationInUse) error {
				return table(a, settingColumns()).Write(a.out, to, in.Settings)
			}))
		},
	}
	a.Flags(c)
	a.watchFlag(c)
	c.AddCommand(configurationHistoryCommand(p))
	return c
}

func settingColumns() []terminal.Column[api.Setting] {
	return []terminal.Column[api.Setting]{
		{Title: "SETTING", Cell: func(s api.Setting) string { return s.Path }, Least: 24, Cut: terminal.CutStart},
		{Title: "VALUE", Cell: func(s api.Setting) string { return s.Value }, Least: 20},
	}
}

func configurationHistoryCommand(p Program) *cobra.Command {
	a := newServiceCommand(p)
	c := &cobra.Command{
		Use:   "history",
		Short: "Show which configurations were accepted or refused, and what differed",
		Long: `Show the configurations that the gateway that answers has accepted or refused since it
started, the newest first: the generation, its time, its trigger, whose admin token, and
the settings that differ from the generation before, or why it was refused. With -o wide
each difference has a line, with both values.

` + findingService,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.show(c.Context(), showOne(a, "/admin/configurations", nil, a.writeConfigurations))
		},
	}
	a.Flags(c)
	a.watchFlag(c)
	return c
}

func (a *serviceCommand) writeConfigurations(to io.Writer, page api.Page[api.Configuration]) error {
	if err := table(a, configurationColumns()).Write(a.out, to, page.Value); err != nil || a.format != terminal.WideFormat {
		return err
	}
	for _, c := range page.Value {
		lines := differencesOf(c)
		if len(lines) == 0 {
			continue
		}
		if _, err := fmt.Fprintf(to, "\n%s, %s:\n", headingOf(c), c.Time.UTC().Format(time.RFC3339)); err != nil {
			return err
		}
		for _, line := range lines {
			if _, err := fmt.Fprintf(to, "  %s\n", terminal.Clean(line)); err != nil {
				return err
			}
		}
	}
	return nil
}

func configurationColumns() []terminal.Column[api.Configuration] {
	return []terminal.Column[api.Configuration]{
		{Title: "GENERATION", Cell: generationOf, Right: true},
		{Title: "SINCE", Time: func(c api.Configuration) time.Time { return c.Time }},
		{Title: "OUTCOME", Cell: func(c api.Configuration) string { return c.Outcome }, Style: func(c api.Configuration) terminal.Style {
			if c.Outcome == api.ConfigurationRefused {
				return terminal.Red
			}
			return terminal.Plain
		}},
		{Title: "WHY", Cell: func(c api.Configuration) string { return c.Why }, Least: 10},
		{Title: "BY", Cell: func(c api.Configuration) string { return c.By }, Least: 6, Drop: 1},
		{Title: "DIFFERED", Cell: differedIn, Least: 12},
	}
}

func generationOf(c api.Configuration) string {
	if c.Generation == 0 {
		return ""
	}
	return strconv.FormatInt(c.Generation, 10)
}

func headingOf(c api.Configuration) string {
	if c.Outcome == api.ConfigurationRefused {
		return "Refused"
	}
	return "Generation " + generationOf(c)
}

// differedIn names the settings that changed, or the faults.
func differedIn(c api.Configuration) string {
	names := append([]string{}, c.Faults...)
	for _, change := range c.Changes {
		names = append(names, change.Path)
	}
	if c.Further > 0 {
		names = append(names, fmt.Sprintf("and %d more", c.Further))
	}
	return strings.Join(names, ", ")
}

// differencesOf returns lines about the changes, or about the reasons of a refusal.
func differencesOf(c api.Configuration) []string {
	lines := append([]string{}, c.Faults...)
	for _, change := range c.Changes {
		lines = append(lines, fmt.Sprintf("%s: %s -> %s", change.Path, cmp.Or(change.From, "(none)"), cmp.Or(change.To, "(none)")))
	}
	for _, path := range c.NeedsRestart {
		lines = append(lines, path+" stays as it was until the gateway is restarted")
	}
	if c.Further > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", c.Further))
	}
	return lines
}
