package operator

import (
	"github.com/spf13/cobra"

	"portico/cmd/portico/terminal"
	"portico/gateway/admin/api"
)

func locksCommand(p Program) *cobra.Command {
	l := listing[api.Lock, api.Lock]{
		path: "/admin/locks", inSubscriptions: true, none: "There is no lock.", rows: same[api.Lock],
		params: []param{ofSubscription(), {name: "scope", flag: "scope", usage: "only locks that apply to this `ID`: on it and above"}},
		columns: []terminal.Column[api.Lock]{
			{Title: "LEVEL", Cell: func(l api.Lock) string { return l.Level }},
			{Title: "NAME", Cell: func(l api.Lock) string { return l.Name }, Least: 8},
			{Title: "SCOPE", Cell: func(l api.Lock) string { return l.Scope }, Least: 20, Cut: terminal.CutStart},
			{Title: "NOTES", Cell: func(l api.Lock) string { return l.Notes }, Least: 10, Drop: 1},
		},
	}
	return l.command(p, "locks", "List the locks of all subscriptions, or of one", `List the locks of all subscriptions, or of one.

portico changes --resource ID shows who set or removed the lock with that ID.`)
}
