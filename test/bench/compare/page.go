package compare

import (
	"errors"
	"strings"
)

// What was measured stands between these lines of the page, whatever else it says.
const (
	measuredBegin = "<!-- Measured: written by make bench-peers -->"
	measuredEnd   = "<!-- End of what was measured -->"
)

// replaceMeasured puts text where a page has what was measured before.
func replaceMeasured(page, text string) (string, error) {
	before, rest, found := strings.Cut(page, measuredBegin)
	_, after, ends := strings.Cut(rest, measuredEnd)
	if !found || !ends || strings.Contains(after, measuredBegin) || strings.Contains(after, measuredEnd) {
		return "", errors.New("the page does not have one place for what was measured")
	}
	return before + measuredBegin + "\n\n" + strings.TrimSpace(text) + "\n\n" + measuredEnd + after, nil
}

// table is a table of Markdown.
func table(head []string, rows [][]string) string {
	var text strings.Builder
	line := func(cells []string) { text.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(head)
	text.WriteString("|" + strings.Repeat("---|", len(head)) + "\n")
	for _, row := range rows {
		line(row)
	}
	return text.String()
}
