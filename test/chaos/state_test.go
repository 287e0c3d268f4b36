package chaos

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"portico/inventory/index"
)

// row is what the index holds of a resource.
type row struct {
	id, group, typ, region string
	phase                  index.Phase
	verify, following      int
}

// differences tells in what the index differs from what the providers hold, and
// what in it is not at rest. In the end there are none.
func (s *site) differences(ctx context.Context, t *testing.T) ([]string, error) {
	rows, err := s.rows(ctx)
	if err != nil {
		return nil, err
	}
	var all []string
	held := map[string]string{} // the region by id
	for _, c := range s.regions {
		for _, id := range c.IDs(t) {
			key := strings.ToLower(id)
			if other := held[key]; other != "" {
				all = append(all, fmt.Sprintf("%s and %s both hold %s", other, c.Region, id))
			}
			held[key] = c.Region
			switch r, known := rows[key]; {
			case !known:
				all = append(all, fmt.Sprintf("%s holds %s, of which the index knows nothing", c.Region, id))
			case r.region != c.Region:
				all = append(all, fmt.Sprintf("%s holds %s, but the index says %s", c.Region, id, r.region))
			case r.id != id:
				all = append(all, fmt.Sprintf("%s holds %s, but the index writes %s", c.Region, id, r.id))
			}
		}
	}
	for key, r := range rows {
		if held[key] == "" {
			all = append(all, fmt.Sprintf("no provider holds %s, but the index says %s", r.id, r.region))
		}
		if r.phase != index.Live || r.verify != 0 || r.following != 0 {
			all = append(all, fmt.Sprintf("%s is not at rest: %v, verify %d, following %d", r.id, r.phase, r.verify, r.following))
		}
	}
	for _, look := range []func(context.Context, map[string]row) ([]string, error){s.unfinished, s.miscounted, s.dueNotifications} {
		more, err := look(ctx, rows)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	slices.Sort(all)
	return all, nil
}

// rows reads the index of resources.
func (s *site) rows(ctx context.Context) (map[string]row, error) {
	rows := map[string]row{}
	err := s.query(ctx, `SELECT key, id, resource_group, type, region, phase, verify, following FROM resources`, func(scan func(...any) error) error {
		var key string
		var r row
		err := scan(&key, &r.id, &r.group, &r.typ, &r.region, &r.phase, &r.verify, &r.following)
		rows[key] = r
		return err
	})
	return rows, err
}

// unfinished lists the writes that are open, the work that is left, and what
// lies in more than one region or outside of any group.
func (s *site) unfinished(ctx context.Context, rows map[string]row) ([]string, error) {
	var all []string
	for _, q := range []struct{ what, text string }{
		{"an open write", `SELECT key FROM intents`},
		{"work that has not ended", `SELECT kind || ' ' || subject FROM jobs WHERE kind IN ('verify', 'follow', 'group-delete', 'batch') AND state < 2`},
		{"work that failed", `SELECT kind || ' ' || subject FROM jobs WHERE state = 3`},
		{"a stray", `SELECT region || ' ' || id FROM strays`},
	} {
		err := s.query(ctx, q.text, func(scan func(...any) error) error {
			var name string
			err := scan(&name)
			all = append(all, q.what+": "+name)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	named := map[string]bool{}
	err := s.query(ctx, `SELECT key FROM resource_groups`, func(scan func(...any) error) error {
		var key string
		err := scan(&key)
		named[key] = true
		return err
	})
	for _, r := range rows {
		if !named[r.group] {
			all = append(all, fmt.Sprintf("%s has outlived its group", r.id))
		}
	}
	return all, err
}

// miscounted lists the quotas that count another number than there is.
func (s *site) miscounted(ctx context.Context, rows map[string]row) ([]string, error) {
	count := map[[2]string]int{}
	for _, r := range rows {
		count[[2]string{r.group, r.typ}]++
	}
	err := s.query(ctx, `SELECT key FROM resource_groups`, func(scan func(...any) error) error {
		count[[2]string{}]++
		return scan(new(string))
	})
	if err != nil {
		return nil, err
	}
	if err := s.countBatches(ctx, count); err != nil {
		return nil, err
	}
	var all []string
	err = s.query(ctx, `SELECT resource_group, type, used FROM usage`, func(scan func(...any) error) error {
		var of [2]string
		var n int
		err := scan(&of[0], &of[1], &n)
		if n != count[of] {
			all = append(all, fmt.Sprintf("the usage of %q is %d, not %d", of, n, count[of]))
		}
		delete(count, of)
		return err
	})
	for of, n := range count {
		all = append(all, fmt.Sprintf("the usage of %q is missing, not %d", of, n))
	}
	return all, err
}

// countBatches adds the bytes that the batches take up, for each caller and for
// all: what is held of their content and of their answers, not what they say of
// it themselves.
func (s *site) countBatches(ctx context.Context, count map[[2]string]int) error {
	const held = `SELECT caller, LENGTH(content) + COALESCE((SELECT SUM(LENGTH(answer)) FROM request_parts p
		WHERE p.subscription = b.subscription AND p.job = b.job), 0) FROM request_batches b`
	return s.query(ctx, held, func(scan func(...any) error) error {
		var caller string
		var bytes int
		err := scan(&caller, &bytes)
		for _, group := range []string{caller, ""} {
			if bytes > 0 {
				count[[2]string{group, "batch bytes"}] += bytes
			}
		}
		return err
	})
}

// query reads all rows of a query in the store.
func (s *site) query(ctx context.Context, text string, each func(scan func(...any) error) error) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	found, err := s.database.QueryContext(ctx, text)
	if err != nil {
		return err
	}
	defer func(found *sql.Rows) { _ = found.Close() }(found)
	for found.Next() {
		if err := each(found.Scan); err != nil {
			return err
		}
	}
	return found.Err()
}

// settle waits, within a bound, until nothing is different or under way any
// more, and tells how long that took.
func (s *site) settle(t *testing.T, bound time.Duration) time.Duration {
	t.Helper()
	started := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	for {
		all, err := s.differences(ctx, t)
		if err == nil && len(all) == 0 {
			return time.Since(started)
		}
		pause(ctx, 250*time.Millisecond)
		if ctx.Err() != nil {
			text := strings.Join(all, "\n")
			t.Errorf("not at rest after %v (%v):\n%s\nThe last requests that providers had for these:\n%s", bound, err, text, s.requestsOf(t, text))
			return time.Since(started)
		}
	}
}

// requestsOf are the last requests that providers had for the resources of a text, each on a line.
func (s *site) requestsOf(t *testing.T, of string) string {
	var all []string
	of = strings.ToLower(of)
	for _, c := range s.regions {
		for _, r := range c.Requests(t) {
			if strings.Count(r.Path, "/") >= 8 && strings.Contains(of, strings.ToLower(r.Path)) {
				all = append(all, fmt.Sprintf("%s %s %s %s %s", r.Time.Format(time.StampMicro), c.Region, r.Method, r.Path, r.Headers.Get("X-Ms-Correlation-Request-Id")))
			}
		}
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}
