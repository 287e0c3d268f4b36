package operator

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"portico/cmd/portico/terminal"
	"portico/gateway/admin/api"
)

func whyCommand(p Program) *cobra.Command {
	a := newServiceCommand(p)
	a.missing = "portico resources list and portico jobs list show the IDs that there are"
	c := &cobra.Command{
		Use:   "why ID|URL|CORRELATION|JOB",
		Short: "Show how one thing stands, why, and what can be done",
		Long: `Show how one thing stands, why, and what can be done: a subscription, a group or a resource
(by its ID), the work behind a URL that a client polls, the requests with a correlation id,
or a job (by its ID, or the end of it). Below the commands that help, it lists what is known,
the newest first: events, errors, the steps of jobs, waits, fences and locks.

` + findingService,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.show(c.Context(), func(ctx context.Context, service *api.Client, to io.Writer) error {
				of, err := a.jobID(ctx, service, args[0])
				if err != nil { // it is no job
					of = args[0]
				}
				return showOne(a, "/admin/why", url.Values{"of": {of}}, a.writeWhy)(ctx, service, to)
			})
		},
	}
	a.Flags(c)
	a.watchFlag(c)
	return c
}

func (a *serviceCommand) writeWhy(to io.Writer, w api.Why) error {
	for _, line := range terminal.Wrap(w.Verdict, a.columns()) {
		fmt.Fprintln(to, line)
	}
	for _, action := range w.Actions {
		comment := strings.Join(terminal.Wrap(action.Text, a.columns()-len("# ")), "\n# ")
		fmt.Fprintf(to, "\n# %s\n%s\n", comment, terminal.Clean(action.Command))
	}
	return section(a, to, "", "Known, the newest first:", []terminal.Column[api.WhyEntry]{
		{Title: "TIME", Time: func(e api.WhyEntry) time.Time { return e.Time }},
		{Title: "WHAT", Cell: func(e api.WhyEntry) string { return e.What }},
		{Title: "TEXT", Cell: func(e api.WhyEntry) string { return e.Text }, Least: 38},
		{Title: "BY", Cell: func(e api.WhyEntry) string { return e.By }, Least: 8, Drop: 1},
		{Title: "ABOUT", Cell: func(e api.WhyEntry) string { return e.Link }, Wide: true},
		{Title: "CORRELATION", Cell: func(e api.WhyEntry) string { return e.CorrelationID }, Drop: 2},
	}, w.Known)
}
