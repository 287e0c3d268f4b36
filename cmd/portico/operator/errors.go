package operator

import (
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"portico/cmd/portico/terminal"
	"portico/gateway/admin/api"
)

func errorColumns() []terminal.Column[api.ErrorAnswer] {
	return []terminal.Column[api.ErrorAnswer]{
		{Title: "TIME", Time: func(e api.ErrorAnswer) time.Time { return e.Time }},
		{Title: "STATUS", Cell: func(e api.ErrorAnswer) string { return strconv.Itoa(e.Status) }},
		{Title: "BY", Cell: func(e api.ErrorAnswer) string { return e.Cause }},
		{Title: "CODE", Cell: func(e api.ErrorAnswer) string { return e.Code }, Drop: 3},
		{Title: "REGION", Cell: func(e api.ErrorAnswer) string { return e.Region }, Drop: 4},
		{Title: "METHOD", Cell: func(e api.ErrorAnswer) string { return e.Method }, Drop: 2},
		{Title: "PATH", Cell: func(e api.ErrorAnswer) string { return e.Path }, Least: 30, Cut: terminal.CutStart},
		{Title: "CORRELATION", Cell: func(e api.ErrorAnswer) string { return e.CorrelationID }, Drop: 1},
	}
}

func errorsCommand(p Program) *cobra.Command {
	l := listing[api.ErrorAnswer, api.ErrorAnswer]{path: "/admin/errors", none: "This gateway has answered without an error.", rows: same[api.ErrorAnswer], columns: errorColumns()}
	return l.command(p, "errors", "Show the last answers that were errors, and whose they were", `Show the last answers that were errors, the newest first: the last 250 failures (5xx)
and the last 250 refusals of this gateway. BY says whose error it was: gateway is
Portico, service a provider. The correlation id finds the request in the logs of both.`)
}
