package operator

import (
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"portico/cmd/portico/terminal"
	"portico/gateway/admin/api"
	"portico/internal/plural"
)

func errorColumns() []terminal.Column[api.ErrorAnswer] {
	return []terminal.Column[api.ErrorAnswer]{
		{Title: "TIME", Time: func(e api.ErrorAnswer) time.Time { return e.Time }},
		{Title: "COUNT", Cell: func(e api.ErrorAnswer) string { return strconv.Itoa(countOf(e)) }, Right: true},
		{Title: "STATUS", Cell: func(e api.ErrorAnswer) string { return strconv.Itoa(e.Status) }},
		{Title: "BY", Cell: func(e api.ErrorAnswer) string { return e.Blame }},
		{Title: "CODE", Cell: func(e api.ErrorAnswer) string { return e.Code }, Drop: 2},
		{Title: "REGION", Cell: func(e api.ErrorAnswer) string { return e.Region }, Drop: 5},
		{Title: "SUBSCRIPTION", Cell: func(e api.ErrorAnswer) string { return e.Subscription }, Least: 13, Cut: terminal.CutStart, Drop: 1},
		{Title: "CALLER", Cell: whoOf, Least: 13, Cut: terminal.CutStart, Drop: 6},
		{Title: "REPLICA", Cell: func(e api.ErrorAnswer) string { return e.Replica }, Least: 8, Cut: terminal.CutStart, Drop: 7},
		{Title: "METHOD", Cell: func(e api.ErrorAnswer) string { return e.Method }, Drop: 3},
		{Title: "PATH", Cell: func(e api.ErrorAnswer) string { return e.Path }, Least: 24, Cut: terminal.CutStart},
		{Title: "MESSAGE", Cell: func(e api.ErrorAnswer) string { return e.Message }, Least: 24, Drop: 2},
		{Title: "CORRELATION", Cell: func(e api.ErrorAnswer) string { return e.CorrelationID }, Drop: 4},
	}
}

// countOf returns how many answers one element stands for.
func countOf(e api.ErrorAnswer) int { return max(e.Count, 1) }

func errorsCommand(p Program) *cobra.Command {
	l := listing[api.ErrorAnswer, api.ErrorAnswer]{
		path: "/admin/errors", none: "No answer was an error in the last day.", rows: same[api.ErrorAnswer],
		params: []param{{name: "each", flag: "each", usage: "show each of the last errors of one replica: 250 failures and 250 refusals",
			none: "This replica has answered without an error."},
			{name: "blame", flag: "blame", usage: "show only errors with this `BY`", none: "No error has this BY."}},
	}
	bySubscription := false
	l.text = func(ctx context.Context, a *serviceCommand, c *api.Client, to io.Writer, all []api.ErrorAnswer) error {
		if bySubscription {
			found := countBySubscription(all)
			addNames(ctx, c, found)
			return table(a, errorCountColumns()).Write(a.out, to, found)
		}
		return table(a, errorColumns()).Write(a.out, to, all)
	}
	c := l.command(p, "errors", "Show the errors that were answered, and who caused them",
		`Show the errors that all replicas answered in the last day: failures (5xx) and refusals of
Portico, the newest first. Errors with the same status, code, region, subscription, caller
and replica share a line, which shows the newest of them. BY is who is to blame:
Portico, unreachable (a provider that gave no answer), provider (by its answer), or caller.
MESSAGE is what the client got. The correlation id finds the request in the logs of all.`)
	c.Flags().Lookup("each").NoOptDefVal = "true"
	c.Flags().BoolVar(&bySubscription, "by-subscription", false, "count failures and refusals of each subscription, in a table, the most failures first")
	return c
}

type errorCount struct {
	subscription, name string
	failures, refusals int
	last               time.Time
	callers            map[string]int // by name or id
}

// mainCaller returns the caller with the most errors, and how many others there are.
func (s errorCount) mainCaller() string {
	names := slices.SortedFunc(maps.Keys(s.callers), func(a, b string) int { return cmp.Or(cmp.Compare(s.callers[b], s.callers[a]), cmp.Compare(a, b)) })
	switch len(names) {
	case 0:
		return ""
	case 1:
		return names[0]
	}
	return names[0] + " and " + plural.Count(len(names)-1, "other", "others")
}

// whoOf returns the caller of an answer, by name if known.
func whoOf(e api.ErrorAnswer) string { return cmp.Or(e.Name, e.Caller) }

// countBySubscription counts the errors of each subscription, the most failures first.
func countBySubscription(all []api.ErrorAnswer) []errorCount {
	var found []errorCount
	place := map[string]int{}
	for _, e := range all {
		name := e.Subscription
		n, known := place[name]
		if !known {
			n = len(found)
			place[name], found = n, append(found, errorCount{subscription: name, callers: map[string]int{}})
		}
		if e.Status >= http.StatusInternalServerError {
			found[n].failures += countOf(e)
		} else {
			found[n].refusals += countOf(e)
		}
		if who := whoOf(e); who != "" {
			found[n].callers[who] += countOf(e)
		}
		if e.Time.After(found[n].last) {
			found[n].last = e.Time
		}
	}
	slices.SortStableFunc(found, func(a, b errorCount) int {
		return cmp.Or(cmp.Compare(b.failures, a.failures), cmp.Compare(b.refusals, a.refusals), b.last.Compare(a.last))
	})
	return found
}

// mostNamed bounds how many subscriptions are looked up.
const mostNamed = 100

// addNames looks up the names of the first subscriptions. It skips a subscription that
// does not exist, and stops if the store does not answer.
func addNames(ctx context.Context, c *api.Client, found []errorCount) {
	for i := range found[:min(len(found), mostNamed)] {
		if found[i].subscription == "" {
			continue
		}
		s, err := api.Get[api.Subscription](ctx, c, "/admin/subscriptions/"+url.PathEscape(found[i].subscription), nil)
		if refusal, ok := errors.AsType[*api.Refusal](err); err != nil && (!ok || refusal.Status != http.StatusNotFound) {
			return
		}
		found[i].name = s.DisplayName
	}
}

func errorCountColumns() []terminal.Column[errorCount] {
	return []terminal.Column[errorCount]{
		{Title: "SUBSCRIPTION", Cell: func(s errorCount) string { return s.subscription }},
		{Title: "NAME", Cell: func(s errorCount) string { return s.name }, Least: 12, Drop: 1},
		{Title: "FAILURES", Cell: func(s errorCount) string { return strconv.Itoa(s.failures) }, Right: true},
		{Title: "REFUSALS", Cell: func(s errorCount) string { return strconv.Itoa(s.refusals) }, Right: true},
		{Title: "CALLERS", Cell: errorCount.mainCaller, Least: 12},
		{Title: "LAST", Time: func(s errorCount) time.Time { return s.last }},
	}
}
