package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"portico/config"
	"portico/internal/failpoint"
	"portico/internal/garbage"
	"portico/inventory"
)

func serveCommand(stderr io.Writer) *cobra.Command {
	var path, level string
	c := &cobra.Command{
		Use:   "serve --config FILE",
		Short: "Serve the public and the admin listener until SIGINT or SIGTERM",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			// From here on SIGHUP does not end the process.
			hangups := make(chan os.Signal, 1)
			signal.Notify(hangups, syscall.SIGHUP)
			defer signal.Stop(hangups)
			cfg, err := load(path, stderr)
			if err != nil {
				return err
			}
			log, err := newLog(cfg.Log.Format, level, stderr)
			if err != nil {
				return err
			}
			if failpoint.Enabled {
				stop, err := failpoint.Start(c.Context(), os.Getenv)
				if err != nil {
					return err
				}
				defer stop()
				log.Warn("this build has failpoints: it is only for tests")
			}
			memory, stopPacing, err := garbage.Start(cfg.Process.Garbage, cfg.Process.MemoryShare)
			defer stopPacing()
			if memory < math.MaxInt64 || err != nil {
				log.Info("memory limit of this process", zap.Int64("bytes", memory), zap.Error(err))
			}
			public, admin, err := listen(c.Context(), cfg)
			if err != nil {
				return err
			}
			s, err := newService(c.Context(), cfg, log, prometheus.NewRegistry())
			if cfg.Store.Driver == config.SQLite && errors.Is(err, inventory.ErrUnavailable) {
				err = fmt.Errorf("%w\nIf another process uses this file, end that (fuser %s shows it), or choose another store.dsn", err, cfg.Store.DSN)
			}
			if err != nil {
				return err
			}
			s.hangups = hangups
			// Only the start needs most of this memory: reading the migrations takes 12
			// MiB.
			garbage.GiveBack()
			return s.run(c.Context(), public, admin)
		},
	}
	configFlag(c, &path)
	c.Flags().StringVar(&level, "log-level", "info", "lowest level to log: debug, info, warn, error")
	return c
}

// listen opens both listeners, before anything else: an address in use is the most common
// fault of a start.
func listen(ctx context.Context, cfg *config.Config) (public, admin net.Listener, err error) {
	if public, err = listenAt(ctx, cfg.Server.Listen, "server.listen"); err != nil {
		return nil, nil, err
	}
	if admin, err = listenAt(ctx, cfg.Server.Admin, "server.admin"); err != nil {
		_ = public.Close()
		return nil, nil, err
	}
	return public, admin, nil
}

func listenAt(ctx context.Context, address, setting string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		err = fmt.Errorf("%s is in use, perhaps by another portico: ss -ltnp shows who uses it. End that, or choose another %s (portico demo: --%s)",
			address, setting, strings.TrimPrefix(setting, "server."))
	}
	return l, err
}
