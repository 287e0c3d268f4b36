package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"portico/cmd/portico/terminal"
	"portico/config"
	"portico/inventory/backup"
)

func backupCommand(stdout, stderr io.Writer) *cobra.Command {
	var path string
	format := terminal.TableFormat
	c := &cobra.Command{
		Use:   "backup FILE --config FILE",
		Short: "Copy the SQLite database into a file while the service runs",
		Long: `Copy the SQLite database into a file while the service runs.

The copy is a snapshot of one moment. It is read back and checked before FILE appears, and
never replaces an existing file. Exit status 1: no backup was made.

For PostgreSQL, use pg_basebackup or pg_dump.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			cfg, err := load(path, stderr)
			if err != nil {
				return err
			}
			if cfg.Store.Driver != config.SQLite {
				return errors.New("the store is PostgreSQL: back it up by pg_basebackup or pg_dump")
			}
			written, err := backup.Write(c.Context(), cfg.Store.DSN, args[0])
			if err != nil {
				return fmt.Errorf("no backup was made: %s: %w", args[0], err)
			}
			return format.Write(stdout, written, func() error {
				_, err := fmt.Fprintf(stdout, "%s: %d bytes, layout %d\n%s\n", args[0], written.Bytes, written.Layout, whereKeyIs(cfg))
				return err
			})
		},
	}
	configFlag(c, &path)
	format.Flag(c, "output format")
	return c
}

// whereKeyIs returns a sentence about the key that is needed to read a backup.
func whereKeyIs(cfg *config.Config) string {
	if len(cfg.Store.SealKeys) > 0 {
		return "Contents in it are encrypted by the keys of store.sealKeys."
	}
	return "Contents in it are encrypted by the key in " + cfg.Store.DSN + ".key, which is not part of the backup: keep a copy of it separately."
}
