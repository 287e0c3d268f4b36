package main

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"portico/cmd/portico/terminal"
	"portico/provider/certify/contract"
	"portico/provider/certify/report"
)

// passed reports whether every claimed profile is kept and nothing is left: at least one
// rule of each was tried, and no tried rule is broken.
func passed(run report.Run) bool {
	claimed := 0
	for _, v := range run.Verdicts() {
		if v.Claimed && v.Outcome != contract.Kept {
			return false
		}
		if v.Claimed {
			claimed++
		}
	}
	return claimed > 0 && len(run.Left) == 0
}

func (c *certification) summarise(run report.Run) error {
	if c.format.ForPrograms() {
		var document bytes.Buffer
		if err := report.WriteResults(&document, run); err != nil {
			return err
		}
		return c.format.WriteDocument(c.stdout, document.Bytes())
	}
	var b strings.Builder
	screen := terminal.On(c.stdout)
	if c.format == terminal.WideFormat {
		if err := resultTable().Write(screen, &b, run.Results); err != nil {
			return err
		}
		b.WriteByte('\n')
	}
	c.writeFaults(&b, screen, run.Results, c.format == terminal.WideFormat)
	if err := verdictTable().Write(screen, &b, run.Verdicts()); err != nil {
		return err
	}
	writeReasons(&b, run)
	for _, id := range run.Left {
		fmt.Fprintf(&b, "left behind: %s\n", terminal.Clean(id))
	}
	_, err := io.WriteString(c.stdout, b.String())
	return err
}

func verdictTable() terminal.Table[report.Verdict] {
	number := func(of func(report.Verdict) int) func(report.Verdict) string {
		return func(v report.Verdict) string { return strconv.Itoa(of(v)) }
	}
	return terminal.Table[report.Verdict]{Columns: []terminal.Column[report.Verdict]{
		{Title: "PROFILE", Cell: func(v report.Verdict) string { return string(v.Profile) }},
		{Title: "KEPT", Cell: number(func(v report.Verdict) int { return v.Kept }), Right: true},
		{Title: "BROKEN", Cell: number(func(v report.Verdict) int { return v.Broken }), Right: true},
		{Title: "UNREACHED", Cell: number(func(v report.Verdict) int { return v.Unreached }), Right: true},
		{Title: "LEFT OUT", Cell: number(func(v report.Verdict) int { return v.LeftOut }), Right: true},
		{Title: "VERDICT", Cell: verdict, Style: func(v report.Verdict) terminal.Style {
			switch {
			case !v.Claimed:
				return terminal.Faint
			case v.Outcome == contract.Kept:
				return terminal.Green
			}
			return terminal.Red
		}},
	}}
}

// verdict returns the outcome of a profile in words.
func verdict(v report.Verdict) string {
	switch {
	case !v.Claimed:
		return "not claimed"
	case v.Outcome == contract.LeftOut:
		return "not tried"
	case v.Outcome == contract.Kept && v.LeftOut > 0:
		return fmt.Sprintf("kept; %d of %d not tried", v.LeftOut, v.All())
	case v.Outcome == contract.Kept:
		return "kept"
	}
	return "not kept"
}

func resultTable() terminal.Table[contract.Result] {
	return terminal.Table[contract.Result]{Wide: true, Columns: []terminal.Column[contract.Result]{
		{Title: "OUTCOME", Cell: func(r contract.Result) string { return string(r.Outcome) }},
		{Title: "CASE", Cell: func(r contract.Result) string { return r.Case }},
		{Title: "TYPE", Cell: func(r contract.Result) string { return r.Type }},
		{Title: "SECTION", Cell: func(r contract.Result) string { return r.Section }},
		{Title: "WHY", Cell: func(r contract.Result) string { return r.Why }},
	}}
}

// mostUnreached bounds the unreached cases that are shown: if one step fails, everything
// that needs it is unreached.
const mostUnreached = 20

// writeFaults shows each broken rule, and the obstacle of each unreached one. A rule that
// is broken on several types is shown in full for the first of them, unless all is set.
func (c *certification) writeFaults(w io.Writer, screen *terminal.Screen, results []contract.Result, all bool) {
	broken := withOutcome(results, contract.Broken)
	for len(broken) > 0 {
		r, n := broken[0], 1
		var also []string
		for !all && n < len(broken) && broken[n].Case == r.Case {
			also = append(also, broken[n].Type)
			n++
		}
		broken = broken[n:]
		c.writeFault(w, screen, r)
		if len(also) > 0 {
			fmt.Fprintf(w, "  also on %s\n", strings.Join(also, ", "))
		}
		fmt.Fprintln(w)
	}
	unreached := withOutcome(results, contract.Unreached)
	for i, r := range unreached {
		if i == mostUnreached && !all {
			fmt.Fprintf(w, "unreached: %d more\n", len(unreached)-i)
			break
		}
		why := r.Why
		if len(r.Faults) > 0 {
			why = "expected: " + r.Faults[0].Expected + "; got: " + r.Faults[0].Got
		}
		fmt.Fprintf(w, "%s %s: %s\n", screen.In(terminal.Yellow, "unreached"), about(r), terminal.Clean(why))
	}
	if len(unreached) > 0 {
		fmt.Fprintln(w)
	}
}

func withOutcome(results []contract.Result, o contract.Outcome) []contract.Result {
	return slices.DeleteFunc(slices.Clone(results), func(r contract.Result) bool { return r.Outcome != o })
}

// mostScript is the longest script that a terminal shows, in bytes: about two calls.
const mostScript = 2 << 10

// writeFault shows a broken rule in full. Its script is in the report.
func (c *certification) writeFault(w io.Writer, screen *terminal.Screen, r contract.Result) {
	fmt.Fprintf(w, "%s %s\n  %s: %s\n", screen.In(terminal.Red, "broken"), screen.In(terminal.Bold, about(r)), r.Section, r.Rule)
	for _, f := range r.Faults {
		fmt.Fprintf(w, "  expected: %s\n  got:      %s\n", terminal.Clean(f.Expected), terminal.Clean(f.Got))
	}
	switch {
	case r.Script == "":
	case c.reports != "":
		fmt.Fprintf(w, "  again:    %s#%s\n", filepath.Join(c.reports, report.HTMLFile), terminal.Clean(report.Anchor(r)))
	case len(r.Script) > mostScript:
		fmt.Fprintf(w, "  again:    a script of %d lines, which --report DIR writes\n", strings.Count(r.Script, "\n"))
	default:
		for line := range strings.Lines(r.Script) {
			fmt.Fprintln(w, "    "+terminal.Clean(strings.TrimSuffix(line, "\n")))
		}
	}
}

func about(r contract.Result) string {
	if r.Type == "" {
		return r.Case
	}
	return r.Case + " on " + r.Type
}

// writeReasons lists why claimed cases were left out, each reason once.
func writeReasons(w io.Writer, run report.Run) {
	counts := map[string]int{}
	var order []string
	for _, r := range run.Results {
		if r.Outcome != contract.LeftOut || !slices.Contains(run.Claimed, string(r.Profile)) {
			continue
		}
		if counts[r.Why]++; counts[r.Why] == 1 {
			order = append(order, r.Why)
		}
	}
	for _, why := range order {
		fmt.Fprintf(w, "left out: %d, since %s\n", counts[why], terminal.Clean(why))
	}
}
