package blows

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"portico/events"
	"portico/test/harness"
)

// goByTime are tables whose rows go by themselves after a time, or that count what is in
// others; what is in them is no end.
var goByTime = []string{
	"tombstones", "fences", "leases", "operations", "scope_changes", "unnumbered_events", "events", "event_counts", "event_numbers",
	"caller_names", "replica_errors", "replica_traffic", "deletion_order", "deployed", "request_batches", "request_parts", "written_regions",
}

// differsAnyway are columns of text that say when, by whom or as what a row was written.
var differsAnyway = []string{"etag", "payload", "owner", "token", "history", "trace", "sender", "details", "api_version", "error"}

// end says what the place has come to, in lines that are the same wherever the same was
// done: the rows of the store but for times and random values, what providers hold and
// were told, and what the change feed and the receiver of events were told. A line that
// is there twice counts once, as a client who has no answer repeats a request.
func (p place) end(ctx context.Context) ([]string, error) {
	lines, err := p.rows(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range p.providers {
		held, err := c.Call(ctx, harness.Request{Method: http.MethodGet, Path: "/contoso/resources"})
		if err != nil {
			return nil, err
		}
		var list struct{ Value []string }
		if err := json.Unmarshal(held.Body, &list); err != nil {
			return nil, err
		}
		for _, id := range list.Value {
			if strings.Contains(id, p.sub) {
				lines = append(lines, c.Region+" holds "+id)
			}
		}
		notifications, err := c.TryNotifications(ctx)
		if err != nil {
			return nil, err
		}
		for namespace, state := range notifications[p.sub].Namespaces {
			lines = append(lines, fmt.Sprint(c.Region, " was told of ", namespace, ": ", state))
		}
	}
	if err := p.read(ctx); err != nil {
		return nil, err
	}
	for line := range p.reported {
		if strings.Contains(line, p.sub) && p.counts(line) {
			lines = append(lines, "the feed told "+line)
		}
	}
	for id, exists := range p.exists {
		if exists && strings.Contains(id, p.sub) {
			lines = append(lines, "the feed has it that there is "+id)
		}
	}
	for _, line := range p.receiver.of(p.sub) {
		if p.counts(line) {
			lines = append(lines, "the receiver took "+line)
		}
	}
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], p.sub, "SUB")
	}
	slices.Sort(lines)
	return slices.Compact(lines), nil
}

// counts reports whether what an event says belongs to the end. That a write has begun, goes
// on or failed does not: the answer that says so may be lost, and of a client's repeated
// requests one may be refused.
func (p place) counts(line string) bool {
	for _, status := range []events.Status{events.Started, events.Accepted, events.Failed} {
		if strings.HasSuffix(line, " "+string(status)) {
			return false
		}
	}
	return p.chance == "" || !strings.Contains(line, p.chance)
}

// read reads on in the change feed, at a gateway that answers. An event that is told twice
// is an error.
func (p place) read(ctx context.Context) error {
	for {
		var page struct {
			Value []event
			Next  string
		}
		a, err := p.order(harness.Request{Method: http.MethodGet, Path: "/admin/changes?limit=1000&after=" + p.feed}, done)
		if err == nil {
			err = json.Unmarshal(a.Body, &page)
		}
		if err != nil || len(page.Value) == 0 {
			return err
		}
		for _, e := range page.Value {
			if p.numbers[e.Sequence] || p.numbers[e.ID] {
				return fmt.Errorf("the feed told twice: %+v", e)
			}
			p.numbers[e.Sequence], p.numbers[e.ID] = true, true
			p.reported[e.line()]++
			if e.Data.Exists != nil {
				p.exists[strings.ToLower(e.Subject)] = *e.Data.Exists
			}
		}
		p.feed = page.Next
	}
}

// ended says which rows of a table tell of work that has ended well. What asks after a write
// without an answer is such work, too, and a blow makes more of it.
var ended = map[string]string{"jobs": " AND state <> 2"}

// rows shows the rows of the subscription in all tables.
func (p place) rows(ctx context.Context) (lines []string, err error) {
	tables, err := p.tables(ctx)
	if err != nil {
		return nil, err
	}
	for _, table := range tables {
		if slices.Contains(goByTime, table) {
			continue
		}
		found, err := p.database.QueryContext(ctx, fmt.Sprintf("SELECT * FROM %s WHERE subscription = '%s'"+ended[table], table, p.sub))
		if err != nil {
			return nil, err
		}
		rows, err := shown(found)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			lines = append(lines, table+": "+row)
		}
	}
	return lines, nil
}

func (p place) tables(ctx context.Context) (names []string, err error) {
	query := `SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE '%subscription%'`
	if len(p.gateways) > 1 {
		query = `SELECT table_name FROM information_schema.columns WHERE table_schema = current_schema() AND column_name = 'subscription'`
	}
	found, err := p.database.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	for found.Next() {
		var name string
		if err := found.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, found.Err()
}

// shown shows rows by their texts and small numbers: times and versions are large ones,
// and what is random or encrypted has bytes. How many there are of a thing is a large one
// too.
func shown(found *sql.Rows) (lines []string, err error) {
	defer found.Close()
	columns, err := found.ColumnTypes()
	if err != nil {
		return nil, err
	}
	for found.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		if err := found.Scan(values...); err != nil {
			return nil, err
		}
		var cells []string
		for i, c := range columns {
			switch name := c.Name(); c.DatabaseTypeName() {
			case "TEXT", "SMALLINT", "INT2":
				if !slices.Contains(differsAnyway, name) {
					cells = append(cells, fmt.Sprint(name, "=", *values[i].(*any)))
				}
			case "BIGINT", "INT8":
				if name == "n" {
					cells = append(cells, fmt.Sprint(name, "=", *values[i].(*any)))
				}
			}
		}
		lines = append(lines, strings.Join(cells, " "))
	}
	return lines, found.Err()
}

// rests reports whether nothing of the place is under way.
func (p place) rests(ctx context.Context) (bool, error) {
	var left int
	err := p.database.QueryRowContext(ctx, fmt.Sprintf(`SELECT (SELECT COUNT(*) FROM jobs WHERE subscription = '%[1]s' AND state < 2)
		+ (SELECT COUNT(*) FROM intents WHERE subscription = '%[1]s') + (SELECT COUNT(*) FROM fences WHERE subscription = '%[1]s')
		+ (SELECT COUNT(*) FROM resources WHERE subscription = '%[1]s' AND (verify <> 0 OR following <> 0))`, p.sub)).Scan(&left)
	return err == nil && left == 0, err
}

// settle waits until nothing of the place is under way and everyone was told, and returns
// the end.
func (p place) settle() (lines []string, err error) {
	for end := time.Now().Add(bound); time.Now().Before(end) && p.ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		var rests bool
		if rests, err = p.rests(p.ctx); !rests {
			continue
		}
		if lines, err = p.end(p.ctx); err == nil && everyoneWasNotified(lines) {
			return lines, nil
		}
	}
	return lines, fmt.Errorf("not at rest within %v: %w\n%s", bound, err, strings.Join(lines, "\n"))
}

// everyoneWasNotified reports whether the receiver of events has what the feed has.
func everyoneWasNotified(lines []string) bool {
	for _, line := range lines {
		if reported, is := strings.CutPrefix(line, "the feed told "); is && !slices.Contains(lines, "the receiver took "+reported) {
			return false
		}
	}
	return true
}

// becomes waits until nothing of the place is under way, and its end is the one wanted. It
// returns in what that differs.
func (p place) becomes(want []string) (differs string) {
	if _, err := p.settle(); err != nil {
		return err.Error()
	}
	for end := time.Now().Add(bound / 6); time.Now().Before(end) && p.ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		got, err := p.end(p.ctx)
		if err == nil && slices.Equal(got, want) {
			return ""
		}
		differs = difference(got, want)
		if err != nil {
			differs = err.Error()
		}
	}
	return differs
}

func difference(got, want []string) string {
	var text strings.Builder
	for _, line := range want {
		if !slices.Contains(got, line) {
			fmt.Fprintln(&text, "  without", line)
		}
	}
	for _, line := range got {
		if !slices.Contains(want, line) {
			fmt.Fprintln(&text, "  besides", line)
		}
	}
	return text.String()
}
