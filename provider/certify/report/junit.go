package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"portico/provider/certify/contract"
)

// The form of junit.xml, as build servers read it: a test suite for each
// profile. A broken rule is a failure, an unreached one an error, and one
// that was left out is skipped.
type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Name    string       `xml:"name,attr"`
	Suites  []junitSuite `xml:"testsuite"`
	junitCounts
}

type junitSuite struct {
	Name      string `xml:"name,attr"`
	Timestamp string `xml:"timestamp,attr"`
	junitCounts
	Properties []junitProperty `xml:"properties>property"`
	Cases      []junitCase     `xml:"testcase"`
}

type junitCounts struct {
	Tests    int    `xml:"tests,attr"`
	Failures int    `xml:"failures,attr"`
	Errors   int    `xml:"errors,attr"`
	Skipped  int    `xml:"skipped,attr"`
	Time     string `xml:"time,attr"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	ClassName string        `xml:"classname,attr"`
	Name      string        `xml:"name,attr"`
	Time      string        `xml:"time,attr"`
	Failure   *junitMessage `xml:"failure"`
	Error     *junitMessage `xml:"error"`
	Skipped   *junitMessage `xml:"skipped"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// writeJUnit writes junit.xml. The encoder replaces characters that XML does not permit.
func writeJUnit(w io.Writer, r Run) error {
	all := junitSuites{Name: "portico certify", junitCounts: junitCountsOf(r.Counts(), r.Took)}
	results := r.sorted()
	for _, v := range r.Verdicts() {
		suite := junitSuite{
			Name: oneLine(string(v.Profile)), Timestamp: r.Began.UTC().Format("2006-01-02T15:04:05"), Properties: junitProperties(r, v),
		}
		var took time.Duration
		for _, result := range results {
			if result.Profile == v.Profile {
				suite.Cases = append(suite.Cases, junitCaseOf(result))
				took += result.Took
			}
		}
		suite.junitCounts = junitCountsOf(v.Counts, took)
		all.Suites = append(all.Suites, suite)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func junitCountsOf(c Counts, took time.Duration) junitCounts {
	return junitCounts{Tests: c.All(), Failures: c.Broken, Errors: c.Unreached, Skipped: c.LeftOut, Time: seconds(took)}
}

func junitProperties(r Run, v Verdict) []junitProperty {
	properties := []junitProperty{
		{"suite", oneLine(r.Suite)}, {"contract", oneLine(r.Contract)}, {"claimed", fmt.Sprint(v.Claimed)}, {"disruptive", fmt.Sprint(r.Disruptive)},
	}
	if r.Target.Portico != "" {
		properties = append(properties, junitProperty{"portico", oneLine(r.Target.Portico)})
	}
	for _, region := range slices.Sorted(maps.Keys(r.Target.Endpoints)) {
		properties = append(properties, junitProperty{"endpoint." + oneLine(region), oneLine(r.Target.Endpoints[region])})
	}
	return properties
}

func junitCaseOf(r contract.Result) junitCase {
	family, _, _ := strings.Cut(r.Case, "/")
	c := junitCase{ClassName: oneLine(string(r.Profile) + "." + family), Name: trialName(r), Time: seconds(r.Took)}
	switch r.Outcome {
	case contract.Broken:
		c.Failure = &junitMessage{Message: junitSummary(r), Type: "broken", Text: junitText(r)}
	case contract.Unreached:
		c.Error = &junitMessage{Message: junitSummary(r), Type: "unreached", Text: junitText(r)}
	case contract.LeftOut:
		c.Skipped = &junitMessage{Message: oneLine(r.Why)}
	case contract.Kept:
	}
	return c
}

// junitSummary returns the text that build servers show in overviews.
func junitSummary(r contract.Result) string {
	if len(r.Faults) == 0 {
		return oneLine(r.Why)
	}
	return oneLine("expected: " + r.Faults[0].Expected + "; got: " + r.Faults[0].Got)
}

func junitText(r contract.Result) string {
	var b strings.Builder
	writeFaults(&b, r)
	return strings.TrimLeft(b.String(), "\n")
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

func writeFaults(b *strings.Builder, r contract.Result) {
	words := []string{r.Section}
	if r.Guideline != "" {
		words = append(words, r.Guideline)
	}
	fmt.Fprintf(b, "\n%s: %s\n  %s: %s\n", trialName(r), r.Outcome, oneLine(strings.Join(words, ", ")), oneLine(r.Rule))
	for _, f := range r.Faults {
		fmt.Fprintf(b, "  expected: %s\n  got:      %s\n", oneLine(f.Expected), oneLine(f.Got))
		if f.Exchange != nil && r.Script == "" {
			fmt.Fprintf(b, "  again:    %s\n", strings.ReplaceAll(visible(f.Exchange.Curl), "\n", "\n            "))
		}
	}
	if r.Script != "" {
		fmt.Fprintf(b, "  again:\n    %s\n", strings.ReplaceAll(visible(strings.TrimSpace(r.Script)), "\n", "\n    "))
	}
}
