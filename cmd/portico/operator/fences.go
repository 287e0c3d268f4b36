package operator

import (
	"time"

	"github.com/spf13/cobra"

	"portico/cmd/portico/terminal"
	"portico/gateway/admin/api"
)

func fencesCommand(p Program) *cobra.Command {
	l := listing[api.Fence, api.Fence]{
		path: "/admin/fences", none: "There is no fence.", rows: same[api.Fence],
		columns: []terminal.Column[api.Fence]{
			{Title: "ID", Cell: func(f api.Fence) string { return f.ID }, Least: 34, Cut: terminal.CutStart},
			{Title: "REGION", Cell: func(f api.Fence) string { return f.Region }, Least: 8},
			{Title: "WRITE", Cell: func(f api.Fence) string { return f.Kind }},
			{Title: "SINCE", Time: func(f api.Fence) time.Time { return f.Since }, Drop: 2},
			{Title: "UNTIL", Time: func(f api.Fence) time.Time { return f.Until }, Drop: 1},
			{Title: "REASON", Cell: func(f api.Fence) string { return f.Reason }, Least: 20, Drop: 3},
		},
	}
	return l.command(p, "fences", "List the IDs that are blocked for new resources, as a write without an answer may still take effect there", "")
}
