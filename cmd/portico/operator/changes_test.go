package operator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"portico/gateway/admin/api"
)

// feed is a listener whose change feed has so many events, a second apart, the last one
// now; those up to forgotten are no longer kept.
type feed struct {
	*listener
	events, forgotten int
	read              int // events that were answered
}

func startFeed(t *testing.T, events, forgotten int) *feed {
	t.Helper()
	f := &feed{listener: &listener{}, events: events, forgotten: forgotten}
	now := time.Now()
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		n, limit := f.forgotten, 100
		switch after := query.Get("after"); after {
		case "":
		case "latest":
			n = f.events
		default:
			_, _ = fmt.Sscanf(after, "1.f.%d", &n)
		}
		if n < f.forgotten {
			f.refuse(w, refusal{410, "InvalidQueryParameter", "no longer kept"})
			return
		}
		_, _ = fmt.Sscan(query.Get("limit"), &limit)
		page := api.Changes{Value: []api.Change{}}
		for ; n < f.events && len(page.Value) < limit; n++ {
			kind := "odd"
			if (n+1)%500 == 0 {
				kind = "rare"
			}
			if query.Has("type") && !slices.Contains(query["type"], kind) {
				continue
			}
			at := now.Add(time.Duration(n+1-f.events) * time.Second).UTC().Format(time.RFC3339Nano)
			page.Value = append(page.Value, api.Change{RawMessage: json.RawMessage(fmt.Sprintf(`{"specversion":"1.0","id":"%d","source":"/","type":"%s","subject":"number-%d.","time":"%s","data":{}}`, n+1, kind, n+1, at))})
		}
		f.read += len(page.Value)
		page.Next = "1.f." + strconv.Itoa(n)
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(page)
	}))
	t.Cleanup(f.Close)
	return f
}

// rows are the first and the last event of a table, and their number.
func rowsOf(text string) (first, last string, rows int) {
	lines := strings.Split(strings.TrimSpace(text), "\n")[1:]
	number := func(line string) string {
		_, rest, _ := strings.Cut(line, "number-")
		n, _, _ := strings.Cut(rest, ".")
		return n
	}
	return number(lines[0]), number(lines[len(lines)-1]), len(lines)
}

func TestChangesBeginWhereTheyAreWanted(t *testing.T) {
	alone(t)
	for _, c := range []struct {
		line              string
		events, forgotten int
		first, last       string
		rows, read        int // at most
	}{
		{"changes", 50_000, 0, "49901", "50000", 100, 1000},
		{"changes", 50, 0, "1", "50", 50, 1000},
		{"changes", 50_000, 49_950, "49951", "50000", 50, 1000},
		{"changes --limit 5", 50_000, 0, "49996", "50000", 5, 1000},
		{"changes --type rare --limit 3", 50_000, 0, "49000", "50000", 3, 1000},
		{"changes --since 10m", 50_000, 0, "49401", "50000", 600, 3000},
		{"changes --since 1h", 50_000, 49_000, "49001", "50000", 1000, 3000},
		{"changes --since 1h --limit 7", 50_000, 0, "49994", "50000", 7, 20_000},
		{"changes --after 1.f.10 --limit 5", 50_000, 0, "11", "15", 5, 1000},
	} {
		f := startFeed(t, c.events, c.forgotten)
		text, hint, err := answer(t, f.listener, c.line)
		if err != nil {
			t.Errorf("portico %s: %v", c.line, err)
			continue
		}
		first, last, rows := rowsOf(text)
		n, _ := strconv.Atoi(first)
		wanted, _ := strconv.Atoi(c.first)
		slack := 0
		if strings.Contains(c.line, "10m") {
			slack = 100 // seconds that the test may take meanwhile
		}
		if n < wanted || n > wanted+slack || last != c.last || rows > c.rows || rows < c.rows-slack {
			t.Errorf("portico %s of %d: %d rows from %s to %s, want %d from %s to %s", c.line, c.events, rows, first, last, c.rows, c.first, c.last)
		}
		if f.read > c.read {
			t.Errorf("portico %s read %d events", c.line, f.read)
		}
		if last == "50000" && !strings.Contains(hint, "--after 1.f.50000") {
			t.Errorf("portico %s does not say where to go on: %s", c.line, hint)
		}
	}
}

func TestChangesSinceATimeInJSON(t *testing.T) {
	alone(t)
	f := startFeed(t, 3000, 0)
	at := time.Now().Add(-2 * time.Hour).UTC().Format(time.RFC3339)
	text, _, err := answer(t, f.listener, "changes -o json --since "+at)
	var page api.Changes
	if err != nil || json.Unmarshal([]byte(text), &page) != nil || len(page.Value) != 3000 || page.Next != "1.f.3000" {
		t.Errorf("%v: %d events up to %q", err, len(page.Value), page.Next)
	}
	refuses(t, f.listener, "changes --since 1m --after latest", "since")
}
