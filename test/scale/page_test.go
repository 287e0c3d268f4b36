package scale

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"portico/test/evidence"
	"portico/test/harness"
)

var engines = []string{"SQLite", "PostgreSQL"}

// TestScale measures estates of all sizes over both engines. It fails where something grows
// faster than its answer.
func TestScale(t *testing.T) {
	powers := powersOf(t, *decades)
	for _, engine := range engines {
		t.Run(engine, func(t *testing.T) {
			subject, command := "Scale over "+engine, "make evidence"
			if len(powers) == 1 {
				subject, command = fmt.Sprintf("10^%d resources over %s", powers[0], engine), "make scale"
			}
			publish(t, subject, command, fmt.Sprintf("estates of 10 to the powers of %s resources", *decades), func() string {
				return measure(t, quantities(), powers, []int{7, 9}, func(t *testing.T, power int) *estate {
					return newEstate(t, engine, int(math.Pow10(power)), harness.Config{})
				})
			})
		})
	}
}

// powersOf reads the powers of ten that are to be measured; none skips the test.
func powersOf(t *testing.T, list string) (powers []int) {
	t.Helper()
	if list == "" {
		t.Skip("it takes the machine alone for half an hour: make evidence")
	}
	for text := range strings.SplitSeq(list, ",") {
		power, err := strconv.Atoi(text)
		harness.OK(t, err)
		powers = append(powers, power)
	}
	return powers
}

// publish shows a table, and puts it into its place in the evidence if asked for that.
func publish(t *testing.T, subject, command, extent string, table func() string) {
	t.Helper()
	place := evidence.Place{File: "../../docs/evidence.md", Subject: subject, Command: command}
	if *write {
		harness.OK(t, place.Check())
	}
	text := evidence.Observe(command, evidence.PostgresVersion()).Describe(extent) + "\n\n" + table()
	t.Log(text)
	if *write {
		harness.OK(t, place.Write(text))
	}
}

// measure measures quantities over the estates of all powers of ten, and renders a row for
// each, with what it comes to at further powers.
func measure(t *testing.T, all []quantity, powers, further []int, estateOf func(*testing.T, int) *estate) string {
	t.Helper()
	measured := map[string][]evidence.Spread{}
	head := []string{""}
	for _, power := range powers {
		head = append(head, fmt.Sprintf("10^%d", power))
		t.Run(strconv.Itoa(power), func(t *testing.T) {
			e := estateOf(t, power)
			for _, q := range all {
				measured[q.name] = append(measured[q.name], evidence.SpreadOf(q.measure(t, e)))
			}
		})
	}
	further = beyond(further, powers)
	if len(powers) > 1 {
		head = append(head, "factor a decade")
	}
	for _, power := range further {
		head = append(head, fmt.Sprintf("at 10^%d, derived", power))
	}
	var rows [][]string
	for _, q := range all {
		figures := measured[q.name]
		if len(figures) != len(powers) {
			t.Fatalf("%s was not measured in each size", q.name)
		}
		row := []string{q.name}
		for _, f := range figures {
			row = append(row, f.String())
		}
		if len(powers) == 1 {
			rows = append(rows, row)
			continue
		}
		g := growthOf(figures, powers)
		if err := g.check(q); err != nil {
			t.Error(err)
		}
		row = append(row, evidence.Short(g.factor))
		for _, power := range further {
			row = append(row, g.at(power))
		}
		rows = append(rows, row)
	}
	return evidence.Table(head, rows)
}

// beyond are the powers that none of the measured ones reaches: none where no growth shows.
func beyond(further, measured []int) (all []int) {
	if len(measured) == 1 {
		return nil
	}
	for _, power := range further {
		if power > measured[len(measured)-1] {
			all = append(all, power)
		}
	}
	return all
}
