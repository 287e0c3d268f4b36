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

// unstickOptions are the flags of the command.
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
		Short: "Ask again, give up or forget what waits",
		Long: `Ask again, give up or forget what waits: a resource or a resource group (by its ID),
a job (by its ID, or the end of it that portico jobs list shows), an operation (by the
URL that its client polls), or an event that a receiver has not taken (by sink/NAME/EVENT, as
portico sinks retrying lists it and portico sinks show tells the last one; with --ask also
sink/NAME, for all that wait).

  --ask      asks the provider again, or tries again, now
  --give-up  ends it as its own limit would: a deletion or a move is canceled, an
             operation that has been followed for index.followLimit is not followed
             any more, an endpoint is not notified, an event becomes a dead letter. For
             an event it needs --reason. Of a deployment, by its job or its URL, with
             --resource ID only the step of that resource fails: what depends on it
             ends, the rest goes on
  --forget   forgets a resource, with --fence the fences on its ID, with --region
             the stray there. You say that it does not exist: no one asks a provider
             for it any more. Of a sink it forgets a dead letter. It needs --reason, which
             goes to the audit log, and --yes.

What would not be safe is refused, with until when: nothing is forgotten that a call
under way, or a write without an answer, may still make. Each can be repeated. With
--dry-run nothing is done: it is said what would be, or why it is refused.

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
	a.outputFlags(c)
	a.jsonFlag(c)
	c.Flags().BoolVar(&o.ask, "ask", false, "ask again now")
	c.Flags().BoolVar(&o.giveUp, "give-up", false, "end it as its own limit would")
	c.Flags().BoolVar(&o.forget, "forget", false, "forget what does not exist")
	c.Flags().BoolVar(&o.fence, "fence", false, "the ID is that of fences")
	c.Flags().StringVar(&o.region, "region", "", "the ID is that of a stray in this region")
	c.Flags().StringVar(&o.resource, "resource", "", "the ID of the resource whose step of a deployment is given up")
	c.Flags().StringVar(&o.reason, "reason", "", "why, for the audit log")
	c.Flags().BoolVar(&o.yes, "yes", false, "forget without a question")
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "only say what would be done")
	c.MarkFlagsOneRequired("ask", "give-up", "forget")
	c.MarkFlagsMutuallyExclusive("ask", "give-up", "forget")
	c.MarkFlagsMutuallyExclusive("fence", "region")
	return c
}

// order returns the order for the service.
func (o *unstickOptions) order(name string) (order api.UnstickOrder, err error) {
	order.Step, order.Reason, order.Region, order.DryRun = api.Ask, o.reason, o.region, o.dryRun
	switch {
	case o.giveUp:
		order.Step = api.GiveUp
	case o.forget:
		order.Step = api.Forget
	}
	if o.forget && !o.dryRun && (!o.yes || o.reason == "") {
		return order, fmt.Errorf("to forget %s needs --reason TEXT and --yes: nothing brings it back", name)
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
		b.WriteString("Nothing was done. It would be: ")
	}
	fmt.Fprintf(&b, "%s\n", done.Outcome)
	for _, job := range done.Jobs {
		fmt.Fprintf(&b, "  job %s\n", job)
	}
	_, err := io.WriteString(to, b.String())
	return err
}
