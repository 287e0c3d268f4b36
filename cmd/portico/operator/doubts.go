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
		columns: []terminal.Column[doubtRow]{
			{Title: "ID", Cell: func(r doubtRow) string { return r.doubt.ID }, Least: 34, Cut: terminal.CutStart},
			{Title: "REGION", Cell: func(r doubtRow) string { return r.doubt.Region }, Least: 8, Drop: 2},
			{Title: "WHY", Cell: func(r doubtRow) string { return r.why.Reason }},
			{Title: "WRITE", Cell: func(r doubtRow) string { return r.why.Kind }, Drop: 4},
			{Title: "SINCE", Time: func(r doubtRow) time.Time { return r.why.Since }, Drop: 1},
			{Title: "UNTIL", Time: func(r doubtRow) time.Time { return instant(r.why.Until) }, Drop: 3},
			{Title: "LAST", Cell: func(r doubtRow) string { return r.why.LastOutcome }, Least: 8, Drop: 5},
			{Title: "NEXT", Time: func(r doubtRow) time.Time { return instant(r.why.Next) }, Drop: 6},
			{Title: "JOB", Cell: func(r doubtRow) string { return r.why.Job }, Wide: true},
			{Title: "MESSAGE", Cell: func(r doubtRow) string { return r.why.Message }, Wide: true},
			{Title: "NEXT COMMAND", Cell: func(r doubtRow) string { return r.why.Command }, Wide: true},
		},
	}
	return l.command(p, "doubts", "List the resources and regions that the index is not sure of, and what it waits for", "")
}
