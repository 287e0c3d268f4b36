package evidence

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// Report names the two places of what a suite measures: the README in the suite's folder has
// all of it, and a page below docs what operators decide by.
type Report struct{ Whole, Summary Place }

// ReportOn returns the report on a subject, which the command writes. Docs is the path of
// docs from the suite's folder.
func ReportOn(docs, subject, command string) Report {
	return Report{
		Whole:   Place{File: "README.md", Subject: subject, Command: command},
		Summary: Place{File: docs + "/evidence.md", Subject: subject, Command: command},
	}
}

// Check reports why the report could not be written.
func (r Report) Check() error {
	return errors.Join(r.Whole.Check(), r.Summary.Check())
}

// Write writes both texts into their places.
func (r Report) Write(whole, summary string) error {
	return errors.Join(r.Whole.Write(whole), r.Summary.Write(summary))
}

// Place is the part of a page that has what one suite has measured. Two comments bound it,
// which readers do not see.
type Place struct {
	File string
	// Subject names what was measured. Command writes it.
	Subject, Command string
}

func (p Place) begin() string { return "<!-- " + p.Subject + ": written by " + p.Command + " -->" }
func (p Place) end() string   { return "<!-- End of " + p.Subject + " -->" }

// Check reports why the page could not be written.
func (p Place) Check() error {
	_, err := p.read("")
	return err
}

// Write replaces what is in the place.
func (p Place) Write(text string) error {
	page, err := p.read(text)
	if err != nil {
		return err
	}
	return os.WriteFile(p.File, []byte(page), 0o600) // an existing file keeps its mode
}

// read returns the page with text in the place.
func (p Place) read(text string) (string, error) {
	page, err := os.ReadFile(p.File)
	if err != nil {
		return "", err
	}
	return p.replace(string(page), text)
}

func (p Place) replace(page, text string) (string, error) {
	before, rest, found := strings.Cut(page, p.begin())
	_, after, ends := strings.Cut(rest, p.end())
	if !found || !ends || strings.Contains(after, p.begin()) || strings.Contains(after, p.end()) {
		return "", fmt.Errorf("%s does not have exactly one place for %q", p.File, p.Subject)
	}
	return before + p.begin() + "\n\n" + strings.TrimSpace(text) + "\n\n" + p.end() + after, nil
}

// Table renders a Markdown table.
func Table(head []string, rows [][]string) string {
	var text strings.Builder
	line := func(cells []string) { text.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(head)
	text.WriteString("|" + strings.Repeat("---|", len(head)) + "\n")
	for _, row := range rows {
		line(row)
	}
	return text.String()
}
