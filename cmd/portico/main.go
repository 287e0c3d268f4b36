// Command portico is the front door of a cloud whose services speak the Azure Resource
// Manager resource-provider contract.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"portico/cmd/portico/operator"
	"portico/cmd/portico/terminal"
	"portico/internal/version"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the first signal stops in good order, the next one at once
	err := root(os.Stdout, os.Stderr).ExecuteContext(ctx)
	stop()
	if err == nil {
		return
	}
	if !errors.Is(err, operator.ErrReported) {
		fmt.Fprint(os.Stderr, terminal.Fit(fmt.Sprintf("portico: %v\n", err), terminal.On(os.Stderr).Width()))
	}
	if failed, ok := errors.AsType[*operator.StatusError](err); ok {
		os.Exit(failed.Status)
	}
	os.Exit(1)
}

func root(stdout, stderr io.Writer) *cobra.Command {
	c := &cobra.Command{
		Use:           "portico",
		Short:         "The front door of a cloud that speaks the Azure Resource Manager contract",
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       version.Current().String(),
	}
	c.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	c.AddCommand(
		serveCommand(stderr), demoCommand(stdout, stderr), checkCommand(stdout, stderr), referenceCommand(stdout), backupCommand(stdout, stderr),
		restoreCommand(stdout, stderr), certifyCommand(stdout, stderr), templateCommand(stdout, stderr), manCommand(), versionCommand(stdout),
	)
	c.AddCommand(operator.Commands(operator.Program{Stdout: stdout, Stderr: stderr, SweepHere: sweepHere(stderr)})...)
	arrangeHelp(c, stdout)
	return c
}

func versionCommand(stdout io.Writer) *cobra.Command {
	format := terminal.TableFormat
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this build",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return format.Write(stdout, version.Current(), func() error {
				_, err := fmt.Fprintln(stdout, "portico", version.Current())
				return err
			})
		},
	}
	format.Flag(c, "output format")
	return c
}
