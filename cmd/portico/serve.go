package main

import (
	"context"
	"io"
	"math"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"portico/config"
	"portico/internal/failpoint"
	"portico/internal/garbage"
	"portico/internal/logs"
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
			log, err := logs.New(level, stderr)
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
	var lc net.ListenConfig
	if public, err = lc.Listen(ctx, "tcp", cfg.Server.Listen); err != nil {
		return nil, nil, err
	}
	if admin, err = lc.Listen(ctx, "tcp", cfg.Server.Admin); err != nil {
		_ = public.Close()
		return nil, nil, err
	}
	return public, admin, nil
}
