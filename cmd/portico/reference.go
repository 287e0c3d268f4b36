package main

import (
	"io"

	"github.com/spf13/cobra"

	"portico/config"
	"portico/gateway/admin/api"
)

func referenceCommand(stdout io.Writer) *cobra.Command {
	var schema, admin bool
	c := &cobra.Command{
		Use:   "reference",
		Short: "Print the reference of the configuration, its JSON schema, or the OpenAPI document of the admin listener",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			switch {
			case schema:
				return config.WriteSchema(stdout)
			case admin:
				_, err := stdout.Write(api.OpenAPI().RawMessage)
				return err
			}
			return config.WriteReference(stdout)
		},
	}
	c.Flags().BoolVar(&schema, "schema", false, "print a JSON schema, for editors")
	c.Flags().BoolVar(&admin, "admin", false, "print the OpenAPI document of the admin listener")
	c.MarkFlagsMutuallyExclusive("schema", "admin")
	return c
}
