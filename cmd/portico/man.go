package main

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"portico/internal/version"
)

func manCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages of all commands into a folder",
		Long: `Write the manual pages of all commands into a folder, which is created if needed.
man finds pages in ~/.local/share/man/man1.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil { //nolint:gosec // everybody may read it
				return err
			}
			date := version.Current().Time
			root := c.Root()
			root.DisableAutoGenTag = true // the tag is the day of writing; the same build writes the same pages
			return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "Portico " + version.Number, Manual: "Portico", Date: &date}, args[0])
		},
	}
}
