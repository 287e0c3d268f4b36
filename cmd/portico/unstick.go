package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"portico/gateway/admin/api"
)

// unstickOptions are the flags of the command.
type unstickOptions struct {
	adminTarget
	ask, giveUp, forget bool
	fence, yes, json    bool
	region, reason      string
}

func unstickCommand(stdout io.Writer) *cobra.Command {
	var o unstickOptions
	c := &cobra.Command{
		Use:   "unstick ID|JOB|URL (--ask | --give-up | --forget --reason TEXT --yes) (--config FILE | --admin URL)",
		Short: "Ask again, give up or forget what waits",
		Long: `Ask again, give up or forget what waits: a resource or a resource group (by its ID),
a job, or an operation (by the URL that its client polls).

  --ask      asks the provider again, or tries again, now
  --give-up  ends it as its own limit would: a deletion or a move is canceled, an
             operation that has been followed for index.followLimit is not followed
             any more, an endpoint is not notified
  --forget   forgets a resource, with --fence the fences on its ID, with --region
             the stray there. You say that it does not exist: nobody asks a provider
             for it any more. It needs --reason, which goes to the audit log, and --yes.

What would not be safe is refused, with until when: nothing is forgotten that a call
under way, or a write without an answer, may still make. Each can be repeated.

The service is found by --admin or by the configuration that it runs with. An
admin token is taken from ` + tokenVariable + ` or from --token-file.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			order, err := o.order(args[0])
			if err != nil {
				return err
			}
			done, err := o.unstick(c.Context(), order)
			if err != nil {
				return err
			}
			return o.print(stdout, done)
		},
	}
	o.flags(c)
	c.Flags().BoolVar(&o.ask, "ask", false, "ask again now")
	c.Flags().BoolVar(&o.giveUp, "give-up", false, "end it as its own limit would")
	c.Flags().BoolVar(&o.forget, "forget", false, "forget what does not exist")
	c.Flags().BoolVar(&o.fence, "fence", false, "the ID is that of fences")
	c.Flags().StringVar(&o.region, "region", "", "the ID is that of a stray in this region")
	c.Flags().StringVar(&o.reason, "reason", "", "why, for the audit log")
	c.Flags().BoolVar(&o.yes, "yes", false, "forget without a question")
	c.Flags().BoolVar(&o.json, "json", false, "print the answer as JSON")
	c.MarkFlagsOneRequired("config", "admin")
	c.MarkFlagsMutuallyExclusive("config", "admin")
	c.MarkFlagsOneRequired("ask", "give-up", "forget")
	c.MarkFlagsMutuallyExclusive("ask", "give-up", "forget")
	c.MarkFlagsMutuallyExclusive("fence", "region")
	return c
}

// order is what the service is asked for.
func (o *unstickOptions) order(name string) (order api.UnstickOrder, err error) {
	order.Step, order.Reason, order.Region = api.Ask, o.reason, o.region
	switch {
	case o.giveUp:
		order.Step = api.GiveUp
	case o.forget:
		order.Step = api.Forget
	}
	if o.forget && (!o.yes || o.reason == "") {
		return order, fmt.Errorf("to forget %s needs --reason TEXT and --yes: nobody will ask a provider for it any more", name)
	}
	switch folded := strings.ToLower(name); {
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
	if (o.fence || o.region != "") && !strings.HasPrefix(name, "/") {
		return order, errors.New("--fence and --region go with an ID")
	}
	return order, nil
}

func (o *unstickOptions) unstick(ctx context.Context, order api.UnstickOrder) (done api.Unstuck, err error) {
	client, err := o.client()
	if err != nil {
		return done, err
	}
	defer client.close()
	body, err := json.Marshal(order)
	if err != nil {
		return done, err
	}
	_, err = client.exchange(ctx, http.MethodPost, "/admin/unstick", body, http.StatusOK, &done)
	return done, err
}

func (o *unstickOptions) print(w io.Writer, done api.Unstuck) error {
	if o.json {
		return writeJSON(w, done)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n", done.Target, done.Outcome)
	for _, job := range done.Jobs {
		fmt.Fprintf(&b, "  job %s\n", job)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
