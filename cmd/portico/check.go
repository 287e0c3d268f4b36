package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"portico/cmd/portico/operator"
	"portico/config"
	"portico/config/regionmap"
)

func checkCommand(stdout, stderr io.Writer) *cobra.Command {
	var path string
	c := &cobra.Command{
		Use:   "check --config FILE",
		Short: "Check a configuration and print how its map resolves",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			c, err := load(path, stderr)
			if err != nil {
				return err
			}
			return regionmap.WriteTable(stdout, c.Map)
		},
	}
	configFlag(c, &path)
	return c
}

func configFlag(c *cobra.Command, path *string) {
	c.Flags().StringVar(path, "config", "", "configuration `FILE`")
	_ = c.MarkFlagRequired("config") // fails only for a flag that is not defined
}

// load reads a configuration and reports its faults and warnings, a line each.
func load(path string, stderr io.Writer) (*config.Config, error) {
	c, err := config.Load(path)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return nil, operator.ErrReported
	}
	for _, w := range c.Warnings {
		fmt.Fprintln(stderr, "warning:", w.Error())
	}
	return c, nil
}
