package terminal

import (
	"strings"
	"testing"
	"time"
)

type machine struct {
	id, region string
	created    time.Time
}

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func machines() Table[machine] {
	return Table[machine]{Now: now, Columns: []Column[machine]{
		{Title: "ID", Cell: func(m machine) string { return m.id }, Least: 12, Cut: CutStart},
		{Title: "REGION", Cell: func(m machine) string { return m.region }, Drop: 1},
		{Title: "MADE", Time: func(m machine) time.Time { return m.created }, Drop: 2},
		{Title: "TWICE", Cell: func(m machine) string { return m.id + m.id }, Wide: true},
	}}
}

// drawn is what a table looks like on a terminal of so many columns.
func drawn(t *testing.T, table Table[machine], columns int, rows ...machine) []string {
	t.Helper()
	all := table.Columns
	var shown []Column[machine]
	for _, c := range all {
		if table.Wide || !c.Wide {
			shown = append(shown, c)
		}
	}
	texts := table.texts(shown, rows)
	kept, widths := fit(shown, texts, columns)
	var lines []string
	for _, line := range texts {
		var cells []string
		for _, n := range kept {
			cells = append(cells, pad(shorten(line[n], widths[n], shown[n].Cut), widths[n], shown[n].Right))
		}
		lines = append(lines, strings.TrimRight(strings.Join(cells, gap), " "))
	}
	return lines
}

// What is shortened and what is left out goes by the columns' word, and the width of wide
// characters and of those that join is that which a terminal gives them.
func TestTablesFit(t *testing.T) {
	rows := []machine{
		{"/subscriptions/one/machines/alpha", "westus", now.Add(-3 * time.Minute)},
		{"/subscriptions/one/machines/日本語x", "eastus", now.Add(49 * time.Hour)},
		{"e\u0301te\u0301", "", time.Time{}},
	}
	for columns, want := range map[int][]string{
		0: {
			"ID                                   REGION  MADE",
			"/subscriptions/one/machines/alpha    westus  3m ago",
			"/subscriptions/one/machines/日本語x  eastus  in 2d",
			"e\u0301te\u0301                                  -       -",
		},
		40: {
			"ID                        REGION  MADE",
			"…ions/one/machines/alpha  westus  3m ago",
			"…ns/one/machines/日本語x  eastus  in 2d",
			"e\u0301te\u0301                       -       -",
		},
		24: {
			"ID                REGION",
			"…/machines/alpha  westus",
			"…achines/日本語x  eastus",
			"e\u0301te\u0301               -",
		},
		14: {"ID", "…achines/alpha", "…hines/日本語x", "e\u0301te\u0301"},
	} {
		got := drawn(t, machines(), columns, rows...)
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("on %d columns:\n%s\nwant\n%s", columns, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// A wide table has all columns, and times in full.
func TestWideTables(t *testing.T) {
	table := machines()
	table.Wide = true
	var b strings.Builder
	if err := table.Write(On(&b), &b, []machine{{"/a", "westus", now}}); err != nil {
		t.Fatal(err)
	}
	if want := "ID  REGION  MADE                  TWICE\n/a  westus  2026-01-02T03:04:05Z  /a/a\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}
