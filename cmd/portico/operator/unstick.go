package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"portico/gateway/admin/api"
)

// sinkPrefix begins the name of a sink, or of an event of one.
const sinkPrefix = "sink/"

type unstickOptions struct {
	ask, giveUp, forget, fence, yes, dryRun bool
	region, resource, reason                string
}

func unstickCommand(p Program) *cobra.Command {
	a := newServiceCommand(p)
	a.mustName = true
	var o unstickOptions
	c := &cobra.Command{
		Use:   "unstick ID|JOB|URL|sink/NAME[/EVENT] (--ask | --give-up | --forget --reason TEXT --yes)",
		Short: "Retry, give up or forget something that waits",
		Long: `Retry, give up or forget something that waits: a resource or a resource group (by its ID),
a job (by its ID, or the end of it that portico jobs list shows), an operation (by the
URL that its client polls), or an event that a receiver has not accepted (by
sink/NAME/EVENT: portico sinks retrying lists the events, portico sinks show has the last
one; with --ask also sink/NAME, for all that wait).

  --ask      asks the provider again, or tries again, now
  --give-up  ends it as its own limit would: a deletion or a move is canceled, an
             operation that was followed for index.followLimit is no longer followed,
             an endpoint is not notified, an event becomes a dead letter. For an event
             it needs --reason. For a deployment, by its job or its URL, with
             --resource ID only the step of that resource fails: the steps that depend
             on it end, the others continue
  --forget   forgets a resource, with --fence the fences on its ID, with --region
             the stray there. You assert that it does not exist: no provider is asked
             for it any more. For a sink it forgets a dead letter. It needs --reason,
             which goes to the audit log, and --yes.

An unsafe order is refused, with the time until which it is unsafe: nothing is forgotten
that a call under way, or a write without an answer, may still create. Each order can be
repeated. With --dry-run nothing is done: the command shows what would be done, or why it
would be refused.

` + findingService + `

Exit status 1: it was refused.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			order, err := o.order(args[0])
			if err != nil {
				return err
			}
			return a.unstick(c.Context(), order)
		},
	}
	a.Flags(c)
	c.Flags().BoolVar(&o.ask, "ask", false, "ask again now")
	c.Flags().BoolVar(&o.giveUp, "give-up", false, "end it as its own limit would")
	c.Flags().BoolVar(&o.forget, "forget", false, "forget what does not exist")
	c.Flags().BoolVar(&o.fence, "fence", false, "forget the fences on the ID")
	c.Flags().StringVar(&o.region, "region", "", "forget the stray with the ID in this region")
	c.Flags().StringVar(&o.resource, "resource", "", "the ID of the resource whose step of a deployment is given up")
	c.Flags().StringVar(&o.reason, "reason", "", "why, for the audit log")
	c.Flags().BoolVar(&o.yes, "yes", false, "confirm that it is forgotten for good")
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "only show what would be done")
	c.MarkFlagsOneRequired("ask", "give-up", "forget")
	c.MarkFlagsMutuallyExclusive("ask", "give-up", "forget")
	c.MarkFlagsMutuallyExclusive("fence", "region")
	return c
}

func (o *unstickOptions) order(name string) (order api.UnstickOrder, err error) {
	order.Step, order.Reason, order.Region, order.DryRun = api.Ask, o.reason, o.region, o.dryRun
	switch {
	case o.giveUp:
		order.Step = api.GiveUp
	case o.forget:
		order.Step = api.Forget
	}
	if o.forget && !o.dryRun && (!o.yes || o.reason == "") {
		return order, fmt.Errorf("to forget %s needs --reason TEXT and --yes: it cannot be undone", name)
	}
	switch folded := strings.ToLower(name); {
	case strings.HasPrefix(name, sinkPrefix):
		if order.Sink, order.Event, _ = strings.Cut(name[len(sinkPrefix):], "/"); order.Sink == "" {
			return order, errors.New("an event is named by sink/NAME/EVENT: portico sinks list shows the sinks")
		}
		if o.giveUp && !o.dryRun && o.reason == "" {
			return order, fmt.Errorf("to give up %s needs --reason TEXT: the dead letter shows it", name)
		}
	case strings.HasPrefix(folded, "http://"), strings.HasPrefix(folded, "https://"),
		strings.Contains(folded, "/operationresults/"), strings.Contains(folded, "/operationstatuses/"):
		order.Operation = name
	case !strings.HasPrefix(name, "/"):
		order.Job = name
	case o.fence:
		order.Fence = name
	default:
		order.ID = name
	}
	if order.Resource = o.resource; o.resource != "" && order.Job == "" && order.Operation == "" {
		return order, errors.New("--resource goes with the job or the URL of a deployment")
	}
	if (o.fence || o.region != "") && !strings.HasPrefix(name, "/") {
		return order, errors.New("--fence and --region go with an ID")
	}
	return order, nil
}

func (a *serviceCommand) unstick(ctx context.Context, order api.UnstickOrder) error {
	return a.withClient(func(c *api.Client) (err error) {
		if order.Job != "" {
			if order.Job, err = a.jobID(ctx, c, order.Job); err != nil {
				return err
			}
		}
		return send(ctx, a, c, a.out, api.Request{Method: http.MethodPost, Path: "/admin/unstick", Content: order}, writeUnstuck)
	})
}

func writeUnstuck(to io.Writer, done api.Unstuck) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", done.Target)
	if done.DryRun {
		b.WriteString("Dry run: nothing was done. Outcome: ")
	}
	fmt.Fprintf(&b, "%s\n", done.Outcome)
	for _, job := range done.Jobs {
		fmt.Fprintf(&b, "  job %s\n", job)
	}
	_, err := io.WriteString(to, b.String())
	return err
}
