package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"portico/cmd/portico/operator"
	"portico/cmd/portico/terminal"
	"portico/config"
	"portico/inventory"
	"portico/inventory/engine"
	"portico/regions"
)

func checkCommand(stdout, stderr io.Writer) *cobra.Command {
	var path string
	var strict bool
	format := terminal.TableFormat
	c := &cobra.Command{
		Use:   "check --config FILE",
		Short: "Check a configuration and print how its map resolves",
		Long: `Check a configuration and print how its map resolves. A PostgreSQL database is checked for
what Portico needs, without changing it; if it cannot be reached from here, there is a
warning. JSON and YAML have the faults and warnings.

Exit status 1: there is a fault, or with --strict a warning.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := load(path, stderr)
			found := map[string]config.Faults{"faults": {}, "warnings": {}}
			if faults, known := errors.AsType[config.Faults](err); known {
				found["faults"] = faults
			}
			if err == nil {
				var more config.Faults
				if more, err = checkAround(cmd.Context(), c); err != nil {
					found["faults"] = config.Faults{{File: path, What: err.Error()}}
				}
				writeWarnings(stderr, more)
				found["warnings"] = append(append(found["warnings"], c.Warnings...), more...)
			}
			if err == nil && strict && len(found["warnings"]) > 0 {
				err = operator.ErrReported
			}
			if c == nil && !format.ForPrograms() {
				return err
			}
			return errors.Join(err, format.Write(stdout, found, func() error {
				return routeTable(format == terminal.WideFormat).Write(terminal.On(stdout), stdout, routesOf(c.Map))
			}))
		},
	}
	configFlag(c, &path)
	c.Flags().BoolVar(&strict, "strict", false, "take a warning for a fault")
	format.Flag(c, "output format")
	return c
}

// routesOf returns how a map resolves: a row for each type in each of its regions, with
// providers sorted by namespace, and types and regions in file order.
func routesOf(m *regions.Map) (rows [][]string) {
	for _, p := range m.Providers() {
		for _, t := range p.Types() {
			for _, region := range t.EffectiveRegions() {
				rows = append(rows, []string{
					p.Namespace, t.Name, t.Kind.String(), t.Routing.String(), region, t.Endpoint(region).String(), strings.Join(t.APIVersions, ","),
				})
			}
		}
	}
	return rows
}

func routeTable(wide bool) terminal.Table[[]string] {
	table := terminal.Table[[]string]{Wide: wide}
	for i, title := range []string{"NAMESPACE", "TYPE", "KIND", "ROUTING", "REGION", "ENDPOINTS", "API-VERSIONS"} {
		table.Columns = append(table.Columns, terminal.Column[[]string]{
			Title: title, Cell: func(row []string) string { return row[i] }, Least: 8, Cut: terminal.CutStart, Drop: []int{0, 0, 2, 3, 0, 0, 1}[i],
		})
	}
	return table
}

// checkAround warns of what a start does not mind: regions without providers, and a database
// out of reach. The error is the reason why the database is not suitable, as the start has it.
func checkAround(ctx context.Context, c *config.Config) (warnings config.Faults, err error) {
	for _, r := range c.Map.Regions() {
		if !slices.ContainsFunc(c.Map.Endpoints(), func(e *regions.Endpoint) bool { return e.Region == r.Name }) {
			warnings = append(warnings, config.Fault{File: c.Files[0], What: "no provider has an endpoint in region " + r.Name})
		}
	}
	if c.Store.Driver != config.Postgres {
		return warnings, nil
	}
	ctx, cancel := context.WithTimeout(ctx, storeCheck)
	defer cancel()
	if err = engine.CheckPostgres(ctx, c.Store.DSN); errors.Is(err, inventory.ErrUnavailable) {
		return append(warnings, config.Fault{File: c.Files[0], What: "the database of store.dsn was not checked: " + err.Error()}), nil
	}
	return warnings, err
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
		fmt.Fprint(stderr, terminal.Fit(err.Error()+"\n", terminal.On(stderr).Width()))
		return nil, errors.Join(operator.ErrReported, err)
	}
	writeWarnings(stderr, c.Warnings)
	return c, nil
}

func writeWarnings(stderr io.Writer, warnings config.Faults) {
	for _, w := range warnings {
		fmt.Fprint(stderr, terminal.Fit("warning: "+w.Error()+"\n", terminal.On(stderr).Width()))
	}
}
