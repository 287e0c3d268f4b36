package operator

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"portico/cmd/portico/terminal"
	"portico/gateway/admin/api"
)

func resourcesCommand(p Program) *cobra.Command {
	return withList(&cobra.Command{Use: "resources", Short: "Show what the index knows of resources"}, resourcesListCommand(p))
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
