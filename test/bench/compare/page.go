package compare

import (
	"errors"
	"strings"
)

// The page has the figures between these lines.
const (
	measuredBegin = "<!-- Measured: written by make bench-peers -->"
	measuredEnd   = "<!-- End of what was measured -->"
)

// replaceMeasured replaces the figures on a page.
func replaceMeasured(page, text string) (string, error) {
	before, rest, found := strings.Cut(page, measuredBegin)
	_, after, ends := strings.Cut(rest, measuredEnd)
	if !found || !ends || strings.Contains(after, measuredBegin) || strings.Contains(after, measuredEnd) {
		return "", errors.New("the page does not have exactly one place for the figures")
	}
	return before + measuredBegin + "\n\n" + strings.TrimSpace(text) + "\n\n" + measuredEnd + after, nil
}

// table renders a Markdown table.
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
