package operator

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"portico/cmd/portico/terminal"
	"portico/gateway/admin/api"
)

func resourcesCommand(p Program) *cobra.Command {
	return withList(&cobra.Command{Use: "resources", Short: "Show what the index knows of resources"}, resourcesListCommand(p), resourcesShowCommand(p))
}

func resourcesListCommand(p Program) *cobra.Command {
	l := listing[api.Resource, api.Resource]{
		path: "/admin/resources", inSubscriptions: true, none: "The index has no such resource.", rows: same[api.Resource], columns: resourceColumns(),
		params: []param{
			ofSubscription(),
			{name: "resourceGroup", flag: "group", usage: "only resources of the resource group with this `NAME`"},
			{name: "resourceType", flag: "type", usage: "only resources of this `TYPE`, such as Contoso.Compute/virtualMachines"},
			{name: "region", flag: "region", usage: "only resources in this `REGION`", complete: completeRegions},
		},
	}
	return l.command(p, "list", "List the resources in the index, of all subscriptions or of one", "")
}

func resourceColumns() []terminal.Column[api.Resource] {
	return []terminal.Column[api.Resource]{
		{Title: "ID", Cell: func(r api.Resource) string { return r.ID }, Least: 44, Cut: terminal.CutStart},
		{Title: "REGION", Cell: func(r api.Resource) string { return r.Region }, Least: 8},
		{Title: "PHASE", Cell: func(r api.Resource) string { return r.Phase }, Drop: 2},
		{Title: "FLAGS", Cell: func(r api.Resource) string { return strings.Join(r.Flags, ",") }, Least: 6, Drop: 1},
		{Title: "CHANGED", Time: func(r api.Resource) time.Time { return instant(r.Changed) }, Drop: 3},
		{Title: "CREATED", Time: func(r api.Resource) time.Time { return instant(r.Created) }, Drop: 4},
		{Title: "TYPE", Cell: func(r api.Resource) string { return r.Type }, Wide: true},
	}
}

func resourcesShowCommand(p Program) *cobra.Command {
	a := newServiceCommand(p)
	a.missing = "portico resources list shows what the index has"
	c := &cobra.Command{
		Use:   "show ID",
		Short: "Show all that is known of an ID",
		Long: `Show all that is known of a resource, a group or a subscription, by its ID: its row in the
index, or its state, what it waits for, fences, the locks that apply, and its last events.

` + findingService,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.show(c.Context(), showOne(a, "/admin/resource", url.Values{"id": {args[0]}}, a.writeResource))
		},
	}
	a.Flags(c)
	a.watchFlag(c)
	return c
}

func (a *serviceCommand) writeResource(to io.Writer, r api.ResourceDetail) error {
	fmt.Fprintln(to, a.out.In(terminal.Bold, terminal.Clean(r.ID)))
	says := "The index has no row for it."
	switch {
	case r.Group != nil:
		says = fmt.Sprintf("A resource group in %s, %s, changed %s, created %s", r.Group.Location, r.Group.State, a.optional(r.Group.Changed),
			a.optional(r.Group.Created))
	case r.Subscription != nil:
		says = fmt.Sprintf("A subscription of tenant %s, %s", terminal.Clean(r.Subscription.TenantID), r.Subscription.State)
	case r.Row != nil:
		says = fmt.Sprintf("%s in %s, %s, changed %s, created %s", r.Row.Type, r.Row.Region, strings.Join(append([]string{r.Row.Phase}, r.Row.Flags...), ", "),
			a.optional(r.Row.Changed), a.optional(r.Row.Created))
	}
	fmt.Fprint(to, terminal.Fit(terminal.Clean(says)+"\n", a.columns()))
	return errors.Join(
		section(a, to, "It waits for nothing.", "Waits for:", waitingColumns(func(w api.Waiting) api.Waiting { return w }), r.Waiting),
		section(a, to, "", "Fences:", fenceColumns()[1:], r.Fences),
		section(a, to, "No lock applies.", "Locks:", lockColumns(), r.Locks),
		section(a, to, "There are no events.", "Last events:", eventColumns(), r.Events),
	)
}

func (a *serviceCommand) optional(at *time.Time) string {
	if at == nil {
		return "at an unknown time"
	}
	return when(*at, a.format, time.Now())
}

// section writes a table below a heading, or none if there are no rows.
func section[R any](a *serviceCommand, to io.Writer, none, heading string, columns []terminal.Column[R], rows []R) error {
	if len(rows) == 0 {
		if none == "" {
			return nil
		}
		_, err := fmt.Fprintf(to, "\n%s\n", none)
		return err
	}
	if _, err := fmt.Fprintf(to, "\n%s\n", heading); err != nil {
		return err
	}
	return table(a, columns).Write(a.out, to, rows)
}

func eventColumns() []terminal.Column[api.ResourceEvent] {
	return []terminal.Column[api.ResourceEvent]{
		{Title: "TIME", Time: func(e api.ResourceEvent) time.Time { return e.Time }},
		{Title: "STATUS", Cell: func(e api.ResourceEvent) string { return e.Status },
			Style: func(e api.ResourceEvent) terminal.Style { return styleOf(e.Status) }},
		{Title: "ACTION", Cell: func(e api.ResourceEvent) string { return e.Action }, Least: 16},
		{Title: "CALLER", Cell: func(e api.ResourceEvent) string { return cmp.Or(e.Name, e.Caller) }, Least: 8},
		{Title: "CORRELATION", Cell: func(e api.ResourceEvent) string { return e.CorrelationID }, Drop: 1},
	}
}
