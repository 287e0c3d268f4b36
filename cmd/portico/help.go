package main

import (
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"portico/cmd/portico/terminal"
)

// helpText has the groups of commands, and below each examples of its commands.
//
//go:embed help.txt
var helpText string

// withinParagraph matches the end of a line whose text continues in the next.
var withinParagraph = regexp.MustCompile(`([^\n])\n(\S)`)

// arrangeHelp puts the commands into groups, gives them examples, and makes help fit the
// terminal.
func arrangeHelp(root *cobra.Command, stdout io.Writer) {
	group := ""
	for block := range strings.SplitSeq(helpText, "\n\n") {
		title, lines, _ := strings.Cut(block, "\n")
		group = title
		root.AddGroup(&cobra.Group{ID: group, Title: title})
		for line := range strings.SplitSeq(strings.TrimSpace(lines), "\n") {
			c, _, _ := root.Find(strings.Fields(line)[1:]) // a test finds lines that name no command
			c.Example = strings.TrimPrefix(c.Example+"\n  "+line, "\n")
			for c.HasParent() && c.Parent() != root {
				c = c.Parent()
			}
			c.GroupID = cmp.Or(c.GroupID, group)
		}
	}
	root.SetHelpCommandGroupID(group)
	root.SetCompletionCommandGroupID(group)
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".NamePadding }} {{", ".NamePadding }}  {{"))
	root.SetHelpFunc(func(c *cobra.Command, _ []string) {
		text := withinParagraph.ReplaceAllString(cmp.Or(c.Long, c.Short), "$1 $2")
		fmt.Fprint(stdout, terminal.Fit(text+"\n\n"+c.UsageString(), min(cmp.Or(terminal.On(stdout).Width(), 100), 100)))
	})
}
