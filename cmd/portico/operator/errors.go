package operator

import (
	"cmp"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
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
		{Title: "CODE", Cell: func(e api.ErrorAnswer) string { return e.Code }, Drop: 2},
		{Title: "REGION", Cell: func(e api.ErrorAnswer) string { return e.Region }, Drop: 5},
		{Title: "SUBSCRIPTION", Cell: subscriptionOf, Least: 13, Cut: terminal.CutStart, Drop: 1},
		{Title: "METHOD", Cell: func(e api.ErrorAnswer) string { return e.Method }, Drop: 3},
		{Title: "PATH", Cell: func(e api.ErrorAnswer) string { return e.Path }, Least: 24, Cut: terminal.CutStart},
		{Title: "CORRELATION", Cell: func(e api.ErrorAnswer) string { return e.CorrelationID }, Drop: 4},
	}
}

func errorsCommand(p Program) *cobra.Command {
	l := listing[api.ErrorAnswer, api.ErrorAnswer]{path: "/admin/errors", none: "This gateway has answered without an error.", rows: same[api.ErrorAnswer]}
	bySubscription := false
	l.text = func(a *asking, to io.Writer, all []api.ErrorAnswer) error {
		if bySubscription {
			return table(a, sufferingColumns()).Write(a.out, to, sufferingOf(all))
		}
		return table(a, errorColumns()).Write(a.out, to, all)
	}
	c := l.command(p, "errors", "Show the last answers that were errors, and whose they were", `Show the last answers that were errors, the newest first: the last 250 failures (5xx)
and the last 250 refusals of this gateway. BY says whose error it was: gateway is
Portico, service a provider that answered so. Where a provider could not be reached there
was no answer of its: BY is gateway then, too, and CODE is BadGatewayConnection. The
correlation id finds the request in the logs of both.`)
	c.Flags().BoolVar(&bySubscription, "by-subscription", false, "count failures and refusals of each subscription, in a table; those with most failures first")
	return c
}

// subscriptionOf is the subscription in the path of a request; "": it has none.
func subscriptionOf(e api.ErrorAnswer) string {
	parts := strings.SplitN(e.Path, "/", 4)
	if len(parts) < 3 || !strings.EqualFold(parts[1], "subscriptions") {
		return ""
	}
	return strings.ToLower(parts[2])
}

// suffering is what a subscription got.
type suffering struct {
	subscription       string
	failures, refusals int
	last               time.Time
}

// sufferingOf counts the errors of each subscription, those with most failures first.
func sufferingOf(all []api.ErrorAnswer) []suffering {
	var found []suffering
	place := map[string]int{}
	for _, e := range all {
		name := subscriptionOf(e)
		n, known := place[name]
		if !known {
			n = len(found)
			place[name], found = n, append(found, suffering{subscription: name})
		}
		if e.Status >= http.StatusInternalServerError {
			found[n].failures++
		} else {
			found[n].refusals++
		}
		if e.Time.After(found[n].last) {
			found[n].last = e.Time
		}
	}
	slices.SortStableFunc(found, func(a, b suffering) int {
		return cmp.Or(cmp.Compare(b.failures, a.failures), cmp.Compare(b.refusals, a.refusals), b.last.Compare(a.last))
	})
	return found
}

func sufferingColumns() []terminal.Column[suffering] {
	return []terminal.Column[suffering]{
		{Title: "SUBSCRIPTION", Cell: func(s suffering) string { return s.subscription }},
		{Title: "FAILURES", Cell: func(s suffering) string { return strconv.Itoa(s.failures) }, Right: true},
		{Title: "REFUSALS", Cell: func(s suffering) string { return strconv.Itoa(s.refusals) }, Right: true},
		{Title: "LAST", Time: func(s suffering) time.Time { return s.last }},
	}
}
