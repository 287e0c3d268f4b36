// Command portico is the front door of a cloud whose services speak the Azure
// Resource Manager resource-provider contract.
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

	"portico/meter"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the first signal asks for an end in good order, the next one ends at once
	err := root(os.Stdout, os.Stderr).ExecuteContext(ctx)
	stop()
	if err == nil {
		return
	}
	if !errors.Is(err, errReported) {
		fmt.Fprintln(os.Stderr, "portico:", err)
	}
	if failed, ok := errors.AsType[statusError](err); ok {
		os.Exit(failed.status)
	}
	os.Exit(1)
}

// statusError is an error with an exit status of its own.
type statusError struct {
	error
	status int
}

// errReported is the error of a command that has said what is wrong.
var errReported = errors.New("reported")

func root(stdout, stderr io.Writer) *cobra.Command {
	c := &cobra.Command{
		Use:           "portico",
		Short:         "The front door of a cloud that speaks the Azure Resource Manager contract",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	c.AddCommand(serveCommand(stderr), demoCommand(stdout, stderr), checkCommand(stdout, stderr), readyCommand(stderr), referenceCommand(stdout), sweepCommand(stdout, stderr), retireCommand(stdout), backupCommand(stdout, stderr), restoreCommand(stdout, stderr), rolesCommand(stdout), explainCommand(stdout), versionCommand(stdout))
	return c
}

func versionCommand(stdout io.Writer) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Say which build this is",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			version, revision, compiler := meter.Build()
			_, err := fmt.Fprintln(stdout, "portico", version, revision, compiler)
			return err
		},
	}
}
