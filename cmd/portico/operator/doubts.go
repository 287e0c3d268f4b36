package operator

import (
	"time"

	"github.com/spf13/cobra"

	"portico/cmd/portico/terminal"
	"portico/gateway/admin/api"
)

// doubtRow is one reason why the index is unsure of a resource or a region.
type doubtRow struct {
	doubt api.Doubt
	why   api.Waiting
}

func doubtsCommand(p Program) *cobra.Command {
	l := listing[api.Doubt, doubtRow]{
		path: "/admin/doubts", none: "All resources are verified.",
		params: []param{ofSubscription()},
		rows: func(doubts []api.Doubt) (rows []doubtRow) {
			for _, d := range doubts {
				for _, why := range d.Why {
					rows = append(rows, doubtRow{d, why})
				}
			}
			return rows
		},
		columns: append([]terminal.Column[doubtRow]{
			{Title: "ID", Cell: func(r doubtRow) string { return r.doubt.ID }, Least: 34, Cut: terminal.CutStart},
			{Title: "REGION", Cell: func(r doubtRow) string { return r.doubt.Region }, Least: 8, Drop: 2},
		}, waitingColumns(func(r doubtRow) api.Waiting { return r.why })...),
	}
	return l.command(p, "doubts", "List the resources and regions that the index is not sure of, and what it waits for", "")
}

// waitingColumns show what the index waits for.
func waitingColumns[R any](of func(R) api.Waiting) []terminal.Column[R] {
	return []terminal.Column[R]{
		{Title: "WHY", Cell: func(r R) string { return of(r).Reason }},
		{Title: "WRITE", Cell: func(r R) string { return of(r).Kind }, Drop: 4},
		{Title: "SINCE", Time: func(r R) time.Time { return of(r).Since }, Drop: 1},
		{Title: "UNTIL", Time: func(r R) time.Time { return instant(of(r).Until) }, Drop: 3},
		{Title: "LAST", Cell: func(r R) string { return of(r).LastOutcome }, Least: 8, Drop: 5},
		{Title: "NEXT", Time: func(r R) time.Time { return instant(of(r).Next) }, Drop: 6},
		{Title: "ON", Cell: func(r R) string { return of(r).On }, Wide: true},
		{Title: "JOB", Cell: func(r R) string { return of(r).Job }, Wide: true},
		{Title: "MESSAGE", Cell: func(r R) string { return of(r).Message }, Wide: true},
		{Title: "NEXT COMMAND", Cell: func(r R) string { return of(r).Command }, Wide: true},
	}
}
