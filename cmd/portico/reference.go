package main

import (
	"io"

	"github.com/spf13/cobra"

	"portico/config"
)

func referenceCommand(stdout io.Writer) *cobra.Command {
	var schema bool
	c := &cobra.Command{
		Use:   "reference",
		Short: "Print the reference of the configuration, or its JSON schema",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if schema {
				return config.WriteSchema(stdout)
			}
			return config.WriteReference(stdout)
		},
	}
	c.Flags().BoolVar(&schema, "schema", false, "print a JSON schema, for editors")
	return c
}
