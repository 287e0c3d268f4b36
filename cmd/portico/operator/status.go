package operator

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"portico/cmd/portico/terminal"
	"portico/gateway/admin/api"
	"portico/internal/plural"
)

func statusCommand(p Program) *cobra.Command {
	a := newServiceCommand(p)
	c := &cobra.Command{
		Use:   "status",
		Short: "Show what is wrong, the worst first",
		Long: `Show what is wrong, the worst first, and which service answered.

` + findingService + `

Exit status 0: nothing critical is wrong. 1: something is. 2: there was no answer.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			critical := false
			err := a.show(c.Context(), showStatus(a, &critical))
			switch {
			case err != nil:
				return &StatusError{err, statusUnknown}
			case critical && a.watch == 0:
				return ErrReported
			}
			return nil
		},
	}
	a.Flags(c)
	a.watchFlag(c)
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &StatusError{err, statusUnknown} })
	return c
}

// showStatus returns a picture of the status. It sets critical if something critical is
// wrong.
func showStatus(a *serviceCommand, critical *bool) picture {
	return func(ctx context.Context, c *api.Client, to io.Writer) error {
		answer, err := c.Do(ctx, api.Request{Method: http.MethodGet, Path: "/admin/status"})
		if err != nil {
			return err
		}
		var s api.Status
		if err := answer.Read(&s); err != nil {
			return err
		}
		*critical = slices.ContainsFunc(s.Problems, func(p api.Problem) bool { return p.Severity == api.Critical })
		return write(a, to, answer, func(to io.Writer, s api.Status) error { return a.writeStatus(to, s, time.Now()) })
	}
}

// writeStatus writes a status for people. Problems are sentences, so they are not
// squeezed into columns.
func (a *serviceCommand) writeStatus(to io.Writer, s api.Status, now time.Time) error {
	var b strings.Builder
	columns := a.columns()
	const indent = "          "
	for _, p := range s.Problems {
		style := terminal.Yellow
		if p.Severity == api.Critical {
			style = terminal.Red
		}
		text := indent + terminal.Clean(strings.TrimSpace(p.Summary+" "+p.Detail)) + "\n"
		if more := about(p, a.format, now); more != "" {
			text += indent + terminal.Clean(more) + "\n"
		}
		b.WriteString(a.out.In(style, fmt.Sprintf("%-10s", terminal.Clean(p.Severity))) + terminal.Fit(text, columns)[len(indent):])
		if next := cmp.Or(p.Advice, p.Next); next != "" {
			b.WriteString(indent + "next: " + a.out.In(terminal.Bold, terminal.Clean(next)) + "\n")
		}
	}
	if len(s.Problems) == 0 {
		b.WriteString(a.out.In(terminal.Green, "Nothing is known to be wrong.") + "\n")
	}
	what := fmt.Sprintf("Portico %s in %s, configuration %d, store %s, %s, started %s, at %s",
		s.Version, s.Region, s.Generation, s.Store, plural.Count(s.Replicas, "replica", "replicas"), when(s.Started, a.format, now), a.found.url)
	b.WriteString("\n" + terminal.Fit(terminal.Clean(what)+"\n", columns))
	_, err := io.WriteString(to, b.String())
	return err
}

// about returns what else is known of a problem.
func about(p api.Problem, format terminal.Format, now time.Time) string {
	var parts []string
	if p.Subject != "" && !strings.Contains(p.Summary, p.Subject) {
		parts = append(parts, p.Subject)
	}
	if p.Count > 1 && !strings.Contains(p.Summary, fmt.Sprint(p.Count)) {
		parts = append(parts, fmt.Sprintf("%d of them", p.Count))
	}
	if p.CausedBy != "" {
		parts = append(parts, "because of "+p.CausedBy)
	}
	if p.Since != nil {
		parts = append(parts, "since "+when(*p.Since, format, now))
	}
	if format == terminal.WideFormat {
		parts = append(parts, p.Code)
	}
	return strings.Join(parts, ", ")
}

func when(at time.Time, format terminal.Format, now time.Time) string {
	if format == terminal.WideFormat {
		return at.UTC().Format(time.RFC3339)
	}
	return terminal.Age(at, now)
}
