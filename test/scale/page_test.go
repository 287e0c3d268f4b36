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
			publish(t, subject, command, fmt.Sprintf("estates of 10 to the powers of %s resources", *decades), powers, []int{7, 9}, func() []measured {
				return measure(t, quantities(), powers, func(t *testing.T, power int) *estate {
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

// publish measures over estates of these powers of ten, logs the whole report, and writes it
// and its summary if -scale.write is set.
func publish(t *testing.T, subject, command, extent string, powers, further []int, do func() []measured) {
	t.Helper()
	report := evidence.ReportOn("../../docs", subject, command)
	if *write {
		harness.OK(t, report.Check())
	}
	seen := evidence.Observe(command, evidence.PostgresVersion())
	all := do()
	whole := seen.Describe(extent) + "\n\n" + wholeTable(t, all, powers, further)
	t.Log(whole)
	if *write {
		harness.OK(t, report.Write(whole, seen.Brief(extent)+"\n\n"+summaryTable(all, powers)))
	}
}

// measured is a quantity with what was measured of it over each estate.
type measured struct {
	quantity
	figures []evidence.Spread
}

// measure measures quantities over the estates of all powers of ten.
func measure(t *testing.T, quantities []quantity, powers []int, estateOf func(*testing.T, int) *estate) (all []measured) {
	t.Helper()
	for _, q := range quantities {
		all = append(all, measured{quantity: q})
	}
	for _, power := range powers {
		t.Run(strconv.Itoa(power), func(t *testing.T) {
			e := estateOf(t, power)
			for i := range all {
				all[i].figures = append(all[i].figures, evidence.SpreadOf(all[i].measure(t, e)))
			}
		})
	}
	for _, q := range all {
		if len(q.figures) != len(powers) {
			t.Fatalf("%s was not measured in each size", q.name)
		}
	}
	return all
}

// summaryTable renders the medians of the quantities that operators decide by.
func summaryTable(all []measured, powers []int) string {
	var rows [][]string
	for _, q := range all {
		if !q.decides {
			continue
		}
		row := []string{q.name}
		for _, f := range q.figures {
			row = append(row, f.Middle())
		}
		if len(powers) > 1 {
			row = append(row, evidence.Short(growthOf(q.figures, powers).factor))
		}
		rows = append(rows, row)
	}
	return evidence.Table(heading(powers), rows)
}

// heading names the columns of the measured powers and, if there are several, of growth.
func heading(powers []int) []string {
	head := []string{""}
	for _, power := range powers {
		head = append(head, fmt.Sprintf("10^%d", power))
	}
	if len(powers) > 1 {
		head = append(head, "factor a decade")
	}
	return head
}

// wholeTable renders a row for each quantity, with what it comes to at further powers. It
// fails the test if a quantity grows faster than its answer.
func wholeTable(t *testing.T, all []measured, powers, further []int) string {
	t.Helper()
	head := heading(powers)
	further = beyond(further, powers)
	for _, power := range further {
		head = append(head, fmt.Sprintf("at 10^%d, derived", power))
	}
	var rows [][]string
	for _, q := range all {
		row := []string{q.name}
		for _, f := range q.figures {
			row = append(row, f.String())
		}
		if len(powers) == 1 {
			rows = append(rows, row)
			continue
		}
		g := growthOf(q.figures, powers)
		if err := g.check(q.quantity); err != nil {
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
