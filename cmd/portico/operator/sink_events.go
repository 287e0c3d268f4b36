package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"portico/cmd/portico/terminal"
	"portico/events"
	"portico/gateway/admin/api"
	"portico/internal/plural"
)

func sinksRetryingCommand(p Program) *cobra.Command {
	l := listing[api.RetriedEvent, api.RetriedEvent]{
		pathFor: func(sink string) string { return sinkPath(sink) + "/retrying" }, complete: completeSinks, missing: knownSinks,
		none: "No event of the sink is being retried.", rows: same[api.RetriedEvent],
		columns: []terminal.Column[api.RetriedEvent]{
			{Title: "EVENT", Cell: func(e api.RetriedEvent) string { return e.ID }, Right: true},
			{Title: "WHY", Cell: waitReason, Least: 8},
			{Title: "TRIES", Cell: func(e api.RetriedEvent) string { return strconv.FormatInt(e.Attempts, 10) }, Right: true, Drop: 2},
			{Title: "SINCE", Time: func(e api.RetriedEvent) time.Time { return instant(e.Since) }, Drop: 3},
			{Title: "NEXT", Time: func(e api.RetriedEvent) time.Time { return instant(e.Next) }, Drop: 1},
			{Title: "SUBJECT", Cell: func(e api.RetriedEvent) string { return subjectOf(e.Event) }, Least: 24, Cut: terminal.CutStart},
			{Title: "TYPE", Cell: func(e api.RetriedEvent) string { return typeOf(e.Event) }, Wide: true},
		},
	}
	return l.command(p, "retrying NAME", "List the events that are retried while others overtake them",
		`List the events that a receiver has not accepted, and that others overtake. Events of one
resource wait for the first of them. Each is retried automatically, and given up in the
end; an operator need not wait:

  portico unstick sink/audit/17 --ask
  portico unstick sink/audit/17 --give-up --reason "ticket 4711"`)
}

// waitReason returns why an event was not accepted, or that it waits for another.
func waitReason(e api.RetriedEvent) string {
	if e.Attempts == 0 {
		return "waits for another"
	}
	return failureOf(e.Failure, e.Status)
}

func subjectOf(e *events.CloudEvent) string {
	if e == nil {
		return "no longer kept"
	}
	return e.Subject
}

func typeOf(e *events.CloudEvent) string {
	if e == nil {
		return ""
	}
	return e.Type
}

func sinksDeadCommand(p Program) *cobra.Command {
	l := listing[api.DeadLetter, api.DeadLetter]{
		pathFor: func(sink string) string { return sinkPath(sink) + "/dead" }, complete: completeSinks, missing: knownSinks,
		none: "No event of the sink was given up.", rows: same[api.DeadLetter],
		columns: []terminal.Column[api.DeadLetter]{
			{Title: "EVENT", Cell: func(d api.DeadLetter) string { return d.ID }, Right: true},
			{Title: "WHY", Cell: func(d api.DeadLetter) string { return failureOf(d.Failure, d.Status) }, Least: 8},
			{Title: "TRIES", Cell: func(d api.DeadLetter) string { return strconv.FormatInt(d.Attempts, 10) }, Right: true, Drop: 3},
			{Title: "GIVEN UP", Time: func(d api.DeadLetter) time.Time { return d.GivenUp }, Drop: 2},
			{Title: "REASON", Cell: func(d api.DeadLetter) string { return d.Reason }, Least: 8, Drop: 1},
			{Title: "SUBJECT", Cell: func(d api.DeadLetter) string { return subjectOf(d.Event) }, Least: 24, Cut: terminal.CutStart},
			{Title: "TYPE", Cell: func(d api.DeadLetter) string { return typeOf(d.Event) }, Wide: true},
			{Title: "SINCE", Time: func(d api.DeadLetter) time.Time { return d.Since }, Wide: true},
		},
	}
	return l.command(p, "dead NAME", "List the events that were given up",
		`List the events that were given up for a receiver: dead letters. REASON was entered by the
operator who gave the event up.

  portico sinks replay audit 17 18
  portico sinks forget audit 17 --reason "ticket 4711" --yes`)
}

func sinksReplayCommand(p Program) *cobra.Command {
	var all bool
	c, a := sinkCommand(p, "replay NAME (ID... | --all)", "Retry dead letters",
		`Retry dead letters, by the IDs that portico sinks dead shows. The receiver gets them after
later events of their resources.

  portico sinks replay audit 17 18
  portico sinks replay audit --all

Exit status 1: none of them was a dead letter.`, cobra.MinimumNArgs(1),
		func(a *serviceCommand, ctx context.Context, args []string) error {
			if all == (len(args) > 1) {
				return fmt.Errorf("name dead letters of %s, as portico sinks dead %s lists them, or --all", args[0], args[0])
			}
			var order api.Replay
			if !all {
				order.IDs = args[1:]
			}
			return a.withClient(func(c *api.Client) error { return a.replay(ctx, c, args[0], order) })
		})
	a.mustName = true
	c.Flags().BoolVar(&all, "all", false, "all dead letters of the sink")
	return c
}

func (a *serviceCommand) replay(ctx context.Context, c *api.Client, sink string, order api.Replay) error {
	answer, err := c.Do(ctx, api.Request{Method: http.MethodPost, Path: sinkPath(sink) + "/dead/replay", Content: order})
	if err != nil {
		return err
	}
	var done api.Replayed
	if err := answer.Read(&done); err != nil {
		return err
	}
	err = write(a, a.out, answer, func(to io.Writer, done api.Replayed) error {
		_, err := fmt.Fprintf(to, "%s to be tried again.\n", plural.Count(done.Replayed, "event is", "events are"))
		return err
	})
	if err == nil && done.Replayed == 0 && len(order.IDs) > 0 {
		return errors.New("the sink has no such dead letter: portico sinks dead " + sink + " lists them")
	}
	return err
}

func sinksForgetCommand(p Program) *cobra.Command {
	var reason string
	var yes bool
	c, a := sinkCommand(p, "forget NAME ID --reason TEXT --yes", "Forget a dead letter",
		`Forget a dead letter: the receiver never gets the event. The reason goes to the audit log.

  portico sinks forget audit 17 --reason "ticket 4711" --yes`, cobra.ExactArgs(2),
		func(a *serviceCommand, ctx context.Context, args []string) error {
			if !yes || reason == "" {
				return fmt.Errorf("to forget the event %s needs --reason TEXT and --yes: the receiver never gets it", args[1])
			}
			return a.unstick(ctx, api.UnstickOrder{Sink: args[0], Event: args[1], Step: api.Forget, Reason: reason})
		})
	a.mustName, a.missing = true, "portico sinks list shows the sinks, portico sinks dead NAME the dead letters of one"
	c.Flags().StringVar(&reason, "reason", "", "why, for the audit log")
	c.Flags().BoolVar(&yes, "yes", false, "confirm that it is forgotten for good")
	return c
}
