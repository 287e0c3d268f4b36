package operator

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"portico/cmd/portico/terminal"
	"portico/events"
	"portico/gateway/admin/api"
	"portico/internal/timing"
)

type changesQuery struct {
	*serviceCommand
	after, resource, subscription string
	types                         []string
	limit                         int
	follow                        bool
	since                         string
	began                         time.Time // the parsed since
}

func changesCommand(p Program) *cobra.Command {
	g := changesQuery{serviceCommand: newServiceCommand(p)}
	c := &cobra.Command{
		Use:   "changes",
		Short: "Show what has changed, and who did it",
		Long: `Show what has changed, and who did it: the events of all subscriptions in the order they
were recorded, the newest at the end; or with --resource the history of one ID, the newest
first. Events of deleted resources are kept, too.

--since and --after set the beginning. Without them a table has the last 100 events; JSON
and YAML have all, from the first event that is kept. --since searches backwards from the
newest event, and reads at most 2000 pages of 1000 events.

With --watch it begins now, or after the token, and continues until Ctrl-C. JSON is then a
line for each event. At its end the command prints the token to continue after.

` + findingService,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := g.readSince(time.Now()); err != nil {
				return err
			}
			return g.withClient(func(service *api.Client) error {
				if g.follow {
					return g.followFeed(c.Context(), service)
				}
				return g.list(c.Context(), service)
			})
		},
	}
	g.Flags(c)
	f := c.Flags()
	f.StringVar(&g.after, "after", "", "begin after this `TOKEN`, or latest")
	f.StringVar(&g.since, "since", "", "only events recorded since this `TIME`: a duration such as 10m, or 2026-01-02T03:04:05Z")
	f.StringVar(&g.resource, "resource", "", "the history of this `ID`")
	f.StringVar(&g.subscription, "subscription", "", "only events of the subscription with this `ID`")
	f.StringArrayVar(&g.types, "type", nil, "only events of this `TYPE`, such as Microsoft.Resources.ResourceDeleteSuccess; may be repeated")
	f.IntVar(&g.limit, "limit", 0, fmt.Sprintf("show at most this `NUMBER`; by default %d in a table (%d without --after, --since and "+
		"--resource), all in json and yaml", mostRows, lastRows))
	f.BoolVar(&g.follow, "watch", false, "continue with new events, until Ctrl-C")
	for _, other := range []string{"watch", "subscription", "type"} {
		c.MarkFlagsMutuallyExclusive("resource", other)
	}
	c.MarkFlagsMutuallyExclusive("since", "after", "watch")
	_ = c.RegisterFlagCompletionFunc("subscription", completeSubscriptions) // fails only for an undefined flag
	return c
}

const changesPath = "/admin/changes"

func (g changesQuery) query(after string) url.Values {
	query := url.Values{"limit": {strconv.Itoa(largestPage)}}
	if g.limit > 0 && !g.recent() {
		query.Set("limit", strconv.Itoa(min(g.limit, largestPage)))
	}
	for name, value := range map[string]string{"after": after, "resource": g.resource, "subscription": g.subscription} {
		if value != "" {
			query.Set(name, value)
		}
	}
	for _, t := range g.types {
		query.Add("type", t)
	}
	return query
}

// mostPages bounds how many pages of the feed, which grows meanwhile, are read as one
// list.
const mostPages = 2000

// feed reads at most most events of the feed, or up to its present end if most is 0 or
// less. It sets token to the token after the last event.
func (g changesQuery) feed(ctx context.Context, c *api.Client, token *string, most int) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		left := most
		for range mostPages {
			query := g.query(*token)
			if most > 0 {
				query.Set("limit", strconv.Itoa(min(left, largestPage)))
			}
			page, err := api.Get[api.Changes](ctx, c, changesPath, query)
			if err != nil {
				yield(nil, err)
				return
			}
			end := page.Next == *token
			*token = page.Next
			for _, change := range page.Value {
				if !yield(change.RawMessage, nil) {
					return
				}
			}
			if left -= len(page.Value); end || most > 0 && left <= 0 {
				return
			}
		}
		if g.recent() {
			yield(nil, fmt.Errorf("%d pages were read: begin later, or continue with --after %s", mostPages, *token))
		}
	}
}

func (g changesQuery) list(ctx context.Context, c *api.Client) error {
	token, most := g.after, g.limit
	if most <= 0 && !g.format.ForPrograms() {
		most = mostRows
	}
	elements, next := g.feed(ctx, c, &token, most), func() string { return token }
	switch {
	case g.resource != "":
		elements, next = first(g.notBefore(c.Pages(ctx, changesPath, g.query(g.after))), most), nil
	case g.recent():
		if g.since == "" && g.limit <= 0 {
			most = lastRows
		}
		var err error
		if elements, err = g.last(ctx, c, &token, most); err != nil {
			return err
		}
	}
	if g.format.ForPrograms() {
		return g.format.WriteList(g.out, elements, next)
	}
	var rows []events.CloudEvent
	for element, err := range elements {
		if err != nil {
			return err
		}
		row, err := readChange(element)
		if err != nil {
			return err
		}
		rows = append(rows, row)
	}
	if g.recent() {
		defer func() { fmt.Fprintf(g.errs, "Continue with: --after %s\n", token) }()
	}
	if len(rows) == 0 {
		_, err := fmt.Fprintln(g.out, "There is no such event.")
		return err
	}
	if err := table(g.serviceCommand, changeColumns()).Write(g.out, g.out, rows); err != nil {
		return err
	}
	switch {
	case len(rows) < most:
	case g.recent():
		fmt.Fprintf(g.errs, "These are the last %d. Older ones: --limit NUMBER, or --since TIME\n", most)
	case next == nil:
		fmt.Fprintf(g.errs, "There may be more than these %d: --limit NUMBER\n", most)
	default:
		fmt.Fprintf(g.errs, "These are the first %d. Continue with: --after %s\n", most, token)
	}
	return nil
}

func readChange(text []byte) (e events.CloudEvent, err error) {
	if err = json.Unmarshal(text, &e); err != nil {
		err = fmt.Errorf("an event cannot be read: %w", err)
	}
	return e, err
}

// Times of following the feed.
const (
	feedWait  = "30s"
	feedRetry = time.Second
)

// followFeed shows new events, page by page, until ctx ends.
func (g changesQuery) followFeed(ctx context.Context, c *api.Client) error {
	token := g.after
	if token == "" {
		token = "latest"
	}
	defer func() {
		if token != "latest" {
			fmt.Fprintf(g.errs, "Continue with: --after %s\n", token)
		}
	}()
	headless, heard := false, false
	for {
		query := g.query(token)
		query.Set("wait", feedWait)
		if token == "latest" {
			query.Del("wait") // to get a token first
		}
		page, err := api.Get[api.Changes](ctx, c, changesPath, query)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && heard && isTemporary(err):
			fmt.Fprintln(g.errs, terminal.Clean(err.Error()))
			if timing.Sleep(ctx, feedRetry) != nil {
				return nil
			}
			continue
		case err != nil:
			return err
		}
		heard = true
		if err := g.writeChanges(page.Value, headless); err != nil {
			return err
		}
		headless = headless || len(page.Value) > 0
		token = page.Next
	}
}

// writeChanges writes a page of the followed feed, with columns of fixed width, as later
// pages are not known.
func (g changesQuery) writeChanges(page []api.Change, headless bool) error {
	if g.format.ForPrograms() {
		for _, change := range page {
			if err := g.format.WriteLine(g.out, change.RawMessage); err != nil {
				return err
			}
		}
		return nil
	}
	var rows []events.CloudEvent
	for _, change := range page {
		row, err := readChange(change.RawMessage)
		if err != nil {
			return err
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return nil
	}
	columns := changeColumns()
	columns[0] = terminal.Column[events.CloudEvent]{Title: "TIME", Cell: func(e events.CloudEvent) string { return e.Time.Local().Format(time.DateTime) }}
	for n, width := range map[int]int{1: 9, 2: 40, 3: 36} {
		columns[n].Width = width
	}
	t := table(g.serviceCommand, columns)
	t.Headless = headless
	return t.Write(g.out, io.Writer(g.out), rows)
}

func changeColumns() []terminal.Column[events.CloudEvent] {
	return []terminal.Column[events.CloudEvent]{
		{Title: "TIME", Time: func(e events.CloudEvent) time.Time { return e.Time }},
		{
			Title: "STATUS", Cell: func(e events.CloudEvent) string { return string(e.Data.Status) },
			Style: func(e events.CloudEvent) terminal.Style { return styleOf(string(e.Data.Status)) },
		},
		{Title: "ACTION", Cell: func(e events.CloudEvent) string { return e.Data.Operation }, Least: 12, Cut: terminal.CutStart},
		{Title: "CALLER", Cell: callerOf, Least: 8, Drop: 1},
		{Title: "SUBJECT", Cell: func(e events.CloudEvent) string { return e.Subject }, Least: 20, Cut: terminal.CutStart},
		{Title: "ORIGIN", Cell: func(e events.CloudEvent) string { return string(e.Data.Origin) }, Drop: 3},
		{Title: "CORRELATION", Cell: func(e events.CloudEvent) string { return e.Data.Correlation }, Drop: 2},
		{Title: "JOB", Cell: func(e events.CloudEvent) string { return shortName(e.Data.JobID) }, Drop: 4},
		{Title: "TYPE", Cell: func(e events.CloudEvent) string { return e.Type }, Wide: true},
	}
}

// callerOf returns the caller that made a change, by name if known, or the job that did.
func callerOf(e events.CloudEvent) string {
	for _, who := range []string{e.Data.Name, e.Data.ObjectID, e.Data.AppID} {
		if who != "" {
			return who
		}
	}
	if e.Data.Job != "" {
		return "job " + e.Data.Job
	}
	return ""
}
