package report

import (
	"fmt"
	"io"
	"strings"

	"portico/provider/certify/contract"
)

// Compare writes the changes from one run to the next: newly broken rules,
// rules that are kept again, new or gone cases, and other changes of an
// outcome. It returns worse if a rule is broken that was not broken before,
// or if a rule that was kept was not tried or not reached this time. Of the
// cases in only one of the runs, only a new broken one counts as worse.
func Compare(w io.Writer, before, now Run) (worse bool, err error) {
	was, is := byTrial(before), byTrial(now)
	var broken, again, fresh, gone, changed []string
	for _, r := range now.sorted() {
		old, known := was[trialOf(r)]
		switch {
		case r.Outcome == contract.Broken && (!known || old.Outcome != contract.Broken):
			broken = append(broken, brokenNow(r, old, known))
		case !known:
			fresh = append(fresh, fmt.Sprintf("%s: %s", trialName(r), r.Outcome))
		case r.Outcome == old.Outcome:
		case r.Outcome == contract.Kept && old.Outcome == contract.Broken:
			again = append(again, trialName(r))
		default:
			changed = append(changed, fmt.Sprintf("%s: %s, was %s%s", trialName(r), r.Outcome, old.Outcome, because(r)))
			worse = worse || old.Outcome == contract.Kept
		}
	}
	for _, r := range before.sorted() {
		if _, still := is[trialOf(r)]; !still {
			gone = append(gone, fmt.Sprintf("%s: was %s", trialName(r), r.Outcome))
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "before: %s\nnow:    %s\n", describe(before), describe(now))
	for _, part := range []struct {
		title string
		lines []string
	}{
		{"newly broken", broken}, {"kept again", again}, {"other changes", changed}, {"new cases", fresh}, {"removed cases", gone},
	} {
		if len(part.lines) > 0 {
			fmt.Fprintf(&b, "\n%s: %d\n  %s\n", part.title, len(part.lines), strings.Join(part.lines, "\n  "))
		}
	}
	if len(broken)+len(again)+len(changed)+len(fresh)+len(gone) == 0 {
		b.WriteString("\nnothing has changed\n")
	}
	_, err = io.WriteString(w, b.String())
	return worse || len(broken) > 0, err
}

// trial identifies the same trial in two runs.
type trial struct{ id, on string }

func trialOf(r contract.Result) trial { return trial{r.Case, r.Type} }

// trialName returns a trial's case and type.
func trialName(r contract.Result) string {
	return oneLine(strings.TrimSpace(r.Case + " " + r.Type))
}

func byTrial(r Run) map[trial]contract.Result {
	all := map[trial]contract.Result{}
	for _, result := range r.Results {
		all[trialOf(result)] = result
	}
	return all
}

func brokenNow(r, old contract.Result, known bool) string {
	line := trialName(r) + ", a new case"
	if known {
		line = fmt.Sprintf("%s, was %s", trialName(r), old.Outcome)
	}
	for _, f := range r.Faults {
		line += fmt.Sprintf("\n    expected: %s\n    got:      %s", oneLine(f.Expected), oneLine(f.Got))
	}
	return line
}

func because(r contract.Result) string {
	if r.Why == "" {
		return ""
	}
	return ": " + oneLine(r.Why)
}

func describe(r Run) string {
	c := r.Counts()
	return oneLine(fmt.Sprintf("%s, suite %s, contract %s: %d kept, %d broken, %d unreached, %d left out",
		r.Began.UTC().Format("2006-01-02 15:04 UTC"), r.Suite, r.Contract, c.Kept, c.Broken, c.Unreached, c.LeftOut))
}
