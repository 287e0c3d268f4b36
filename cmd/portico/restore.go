package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"portico/cmd/portico/terminal"
	"portico/config"
	"portico/gateway"
	"portico/internal/plural"
	"portico/inventory"
	"portico/inventory/backup"
	"portico/inventory/engine"
)

func restoreCommand(stdout, stderr io.Writer) *cobra.Command {
	var path string
	format := terminal.TableFormat
	c := &cobra.Command{
		Use:   "restore [FILE] --config FILE",
		Short: "Replace the database by a backup, and end the work that was under way in it",
		Long: `Replace the database by a backup, and end the work that was under way in it.

SQLite: FILE is read completely and checked. The former database is kept next to the new
one under another name. The command is refused while a process has the database open.

PostgreSQL: restore the database with PostgreSQL's tools, before any gateway works with it,
then run this without FILE.

Resources have changed since the backup. Deletions of groups, moves and batches that were
under way are canceled, and subscriptions that were being deleted are Disabled: continuing
would destroy resources created since. Providers are notified of all subscriptions again.
Afterwards start the service, and run a sweep.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			cfg, err := load(path, stderr)
			if err != nil {
				return err
			}
			bar := terminal.NewProgress(terminal.On(stderr), "restore, in MiB")
			done, err := restore(c.Context(), cfg, args, bar)
			bar.End()
			if err != nil {
				return fmt.Errorf("nothing was restored: %w", err)
			}
			return format.Write(stdout, done, func() error { return printRestored(stdout, cfg, done) })
		},
	}
	configFlag(c, &path)
	format.Flag(c, "output format")
	return c
}

func restore(ctx context.Context, cfg *config.Config, args []string, bar *terminal.Progress) (done backup.Restored, err error) {
	if cfg.Store.Driver == config.SQLite {
		if len(args) == 0 {
			return done, errors.New("name the backup: portico restore FILE --config FILE")
		}
		const unit = 1 << 20
		return backup.Restoration{
			Backup: args[0], Database: cfg.Store.DSN, NotResumed: gateway.KindsNotResumed(), Now: time.Now(),
			Progress: func(done, of int64) { bar.Set(int(done/unit), int(of/unit), "") },
		}.Restore(ctx)
	}
	if len(args) > 0 {
		return done, errors.New("the store is PostgreSQL: restore it with PostgreSQL's tools, then run this without a file")
	}
	store, err := inventory.OpenRestored(ctx, engine.Postgres, cfg.Store.DSN)
	if err != nil {
		return done, err
	}
	done.Disarmed, err = store.Disarm(ctx, gateway.KindsNotResumed())
	return done, errors.Join(err, store.Close())
}

func printRestored(w io.Writer, cfg *config.Config, done backup.Restored) error {
	text := ""
	if cfg.Store.Driver == config.SQLite {
		text = fmt.Sprintf("%s: %d bytes, layout %d\n", cfg.Store.DSN, done.Bytes, done.Layout)
	}
	if done.Aside != "" {
		text += fmt.Sprintf("The former database is %s.\n", done.Aside)
	}
	_, err := fmt.Fprintf(w, "%sCanceled: %s of clients. Disabled instead of deleted: %s.\nStart the service, then run: portico sweep\n", text,
		plural.Count(done.Disarmed.Jobs, "job", "jobs"), plural.Count(done.Disarmed.Subscriptions, "subscription", "subscriptions"))
	return err
}
