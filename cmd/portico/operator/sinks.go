package operator

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"portico/cmd/portico/terminal"
	"portico/gateway/admin/api"
	"portico/internal/plural"
)

const sinksPath = "/admin/sinks"

// delivered is the outcome of an event that a receiver has accepted.
const delivered = "delivered"

func sinksCommand(p Program) *cobra.Command {
	return withList(&cobra.Command{
		Use:   "sinks",
		Short: "Show and repair the delivery of events",
		Long: `Show and repair the delivery of events: the position of each receiver, the events that it
does not accept, and those that were given up for it.`,
	}, sinksListCommand(p), sinksShowCommand(p), sinksTestCommand(p), sinksRetryingCommand(p), sinksDeadCommand(p), sinksReplayCommand(p),
		sinksForgetCommand(p))
}

func sinkPath(name string) string { return sinksPath + "/" + url.PathEscape(name) }

// knownSinks is the advice if a sink is not known.
const knownSinks = "portico sinks list shows the sinks"

func sinksListCommand(p Program) *cobra.Command {
	a := newServiceCommand(p)
	c := &cobra.Command{
		Use: "list", Short: "List the receivers of events, and their state",
		Long: `List the receivers of events, and their state. LAG counts the events that the sink has not
reached, BEHIND is the age of the first of them. RETRYING counts events that others
overtake, DEAD those that were given up. A receiver that is Away accepts nothing: it is
tried from time to time.

` + findingService,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.show(c.Context(), showOne(a, sinksPath, nil, func(to io.Writer, page api.Page[api.Sink]) error {
				if len(page.Value) == 0 {
					_, err := fmt.Fprintln(to, "The configuration has no sinks: see events.sinks.")
					return err
				}
				return table(a, sinkColumns()).Write(a.out, to, page.Value)
			}))
		},
	}
	a.Flags(c)
	a.watchFlag(c)
	return c
}

func sinkColumns() []terminal.Column[api.Sink] {
	return []terminal.Column[api.Sink]{
		{Title: "SINK", Cell: func(s api.Sink) string { return s.Name }, Least: 8},
		{Title: "STATE", Cell: func(s api.Sink) string { return s.State }, Style: func(s api.Sink) terminal.Style { return styleOf(s.State) }},
		{Title: "LAG", Cell: func(s api.Sink) string { return strconv.FormatInt(s.Lag, 10) }, Right: true},
		{Title: "BEHIND", Cell: behind, Right: true, Drop: 4},
		{Title: "RETRYING", Cell: func(s api.Sink) string { return strconv.Itoa(s.Retrying) }, Right: true},
		{Title: "DEAD", Cell: func(s api.Sink) string { return strconv.Itoa(s.Dead) }, Right: true},
		{Title: "DELIVERED", Cell: func(s api.Sink) string { return strconv.FormatInt(s.Delivered, 10) }, Right: true, Drop: 5},
		{Title: "TAKEN", Time: func(s api.Sink) time.Time { return instant(s.LastSuccess) }, Drop: 3},
		{Title: "FAILED", Time: func(s api.Sink) time.Time { return instant(s.LastFailure) }, Drop: 2},
		{Title: "WHY", Cell: func(s api.Sink) string { return failureOf(s.Failure, s.Status) }, Least: 8, Drop: 1},
		{Title: "HOST", Cell: func(s api.Sink) string { return s.Host }, Least: 8, Drop: 6},
		{Title: "OWNER", Cell: func(s api.Sink) string { return s.Owner }, Wide: true},
		{Title: "AWAY SINCE", Time: func(s api.Sink) time.Time { return instant(s.AwaySince) }, Wide: true},
	}
}

// behind returns the age of the first event that a sink has not reached.
func behind(s api.Sink) string {
	if s.LagSeconds <= 0 {
		return ""
	}
	return time.Duration(s.LagSeconds * float64(time.Second)).Round(time.Second).String()
}

// failureOf returns the outcome of an attempt.
func failureOf(failure string, status int) string {
	if status == 0 {
		return failure
	}
	return fmt.Sprintf("%s, %d", failure, status)
}

func sinkCommand(
	p Program, use, short, long string, args cobra.PositionalArgs, run func(a *serviceCommand, ctx context.Context, args []string) error,
) (*cobra.Command, *serviceCommand) {
	a := newServiceCommand(p)
	a.missing = knownSinks
	c := &cobra.Command{
		Use: use, Short: short, Long: long + "\n\n" + findingService, Args: args, ValidArgsFunction: onlyFirst(completeSinks),
		RunE: func(c *cobra.Command, args []string) error { return run(a, c.Context(), args) },
	}
	a.Flags(c)
	return c, a
}

func sinksShowCommand(p Program) *cobra.Command {
	c, a := sinkCommand(p, "show NAME", "Show the state of a receiver of events",
		`Show the state of a receiver of events: its deliveries, the last failure, and the event that
failed, if it was sent alone.`, cobra.ExactArgs(1),
		func(a *serviceCommand, ctx context.Context, args []string) error {
			return a.show(ctx, showOne(a, sinkPath(args[0]), nil, a.writeSink))
		})
	a.watchFlag(c)
	return c
}

func (a *serviceCommand) writeSink(to io.Writer, s api.Sink) error {
	p := details{a, to}
	p.text("sink", s.Name)
	p.text("host", s.Host)
	p.styled("state", s.State, styleOf(s.State))
	p.time("away since", s.AwaySince)
	p.text("lag", plural.Count(int(s.Lag), "event", "events"))
	p.text("behind", behind(s))
	p.text("retrying", plural.Count(s.Retrying, "event", "events"))
	p.text("dead", plural.Count(s.Dead, "event", "events"))
	p.text("delivered", strconv.FormatInt(s.Delivered, 10))
	if s.Forgotten > 0 {
		p.text("forgotten", strconv.FormatInt(s.Forgotten, 10)+" before they were sent")
	}
	p.time("taken last", s.LastSuccess)
	p.time("failed last", s.LastFailure)
	p.text("failure", failureOf(s.Failure, s.Status))
	p.text("failed event", s.FailedEvent)
	p.text("owner", s.Owner)
	p.text("after", s.After)
	var next []string
	if s.FailedEvent != "" && s.LastFailure != nil && (s.LastSuccess == nil || s.LastFailure.After(*s.LastSuccess)) {
		next = append(next, "portico unstick sink/"+s.Name+"/"+s.FailedEvent+" --ask")
	}
	if s.Retrying > 0 {
		next = append(next, "portico sinks retrying "+s.Name)
	}
	if s.Dead > 0 {
		next = append(next, "portico sinks dead "+s.Name)
	}
	for _, command := range next {
		p.text("next", command)
	}
	return nil
}

func sinksTestCommand(p Program) *cobra.Command {
	c, a := sinkCommand(p, "test NAME", "Send a receiver a test event",
		`Send a receiver a test event, once and at once, and show the outcome. Its type is
Portico.Test. Waiting events keep their place.

  portico sinks test audit

Exit status 1: the receiver did not accept it.`, cobra.ExactArgs(1),
		func(a *serviceCommand, ctx context.Context, args []string) error {
			return a.withClient(func(c *api.Client) error { return a.testSink(ctx, c, args[0]) })
		})
	a.mustName = true
	return c
}

func (a *serviceCommand) testSink(ctx context.Context, c *api.Client, name string) error {
	answer, err := c.Do(ctx, api.Request{Method: http.MethodPost, Path: sinkPath(name) + "/test"})
	if err != nil {
		return err
	}
	var came api.SinkTest
	if err := answer.Read(&came); err != nil {
		return err
	}
	err = write(a, a.out, answer, func(to io.Writer, came api.SinkTest) error {
		_, err := fmt.Fprintf(to, "%s: %s\n", name, terminal.Clean(failureOf(came.Outcome, came.Status)))
		return err
	})
	if err == nil && came.Outcome != delivered {
		return ErrReported
	}
	return err
}
