package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"portico/cmd/portico/operator"
	"portico/config"
	"portico/config/regionmap"
	"portico/inventory"
	"portico/inventory/engine"
)

func checkCommand(stdout, stderr io.Writer) *cobra.Command {
	var path string
	c := &cobra.Command{
		Use:   "check --config FILE",
		Short: "Check a configuration and print how its map resolves",
		Long: "Check a configuration and print how its map resolves. A PostgreSQL database is checked for what Portico needs, " +
			"without changing it; if it cannot be reached from here, there is a warning.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := load(path, stderr)
			if err != nil {
				return err
			}
			if err := checkStore(cmd.Context(), c, stderr); err != nil {
				return err
			}
			return regionmap.WriteTable(stdout, c.Map)
		},
	}
	configFlag(c, &path)
	return c
}

// checkStore returns the reason why the database is not suitable, as the start would.
func checkStore(ctx context.Context, c *config.Config, stderr io.Writer) error {
	if c.Store.Driver != config.Postgres {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, storeCheck)
	defer cancel()
	err := engine.CheckPostgres(ctx, c.Store.DSN)
	if errors.Is(err, inventory.ErrUnavailable) {
		fmt.Fprintln(stderr, "warning: the database of store.dsn was not checked:", err)
		return nil
	}
	return err
}

// storeCheck bounds the check of a database, which may be out of reach.
const storeCheck = 5 * time.Second

func configFlag(c *cobra.Command, path *string) {
	c.Flags().StringVar(path, "config", "", "configuration `FILE`")
	_ = c.MarkFlagRequired("config") // fails only for an undefined flag
}

// load reads a configuration and prints its faults and warnings, a line each.
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
