// Package operator holds the commands with which operators query and change a running
// service, a file for each noun. All of them call its admin listener by the client of
// gateway/admin/api.
//
// A serviceCommand is such a command: it finds the service, calls it, writes the answer
// in the requested form, and adds advice if it fails. A listing is one that shows a list.
package operator

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"portico/jobs/sweep"
)

// Program is what the commands share with the program.
type Program struct {
	Stdout, Stderr io.Writer
	// SweepHere makes a sweep in this process, with the configuration of a service that
	// does not run.
	SweepHere func(ctx context.Context, config string, order sweep.Order, progress func(sweep.Report)) (sweep.Report, error)
}

// Commands returns all commands.
func Commands(p Program) []*cobra.Command {
	return []*cobra.Command{
		statusCommand(p), whyCommand(p), withGUIDs(explainCommand(p), "as", "group", "tenant"), regionsCommand(p), providersCommand(p), subscriptionsCommand(p),
		resourcesCommand(p), jobsCommand(p), sinksCommand(p), locksCommand(p),
		rolesCommand(p), changesCommand(p), errorsCommand(p), configurationCommand(p), fencesCommand(p), doubtsCommand(p),
		sweepCommand(p), retireCommand(p), unstickCommand(p), reloadCommand(p), readyCommand(p),
	}
}

// StatusError is an error with an exit status of its own.
type StatusError struct {
	Err    error
	Status int
}

func (e *StatusError) Error() string { return e.Err.Error() }

// Unwrap returns the error without the status.
func (e *StatusError) Unwrap() error { return e.Err }

// ErrReported is the error of a command that has already printed what is wrong.
var ErrReported = errors.New("reported")

// Exit statuses of commands that answer a question.
const (
	statusNo      = 1
	statusUnknown = 2 // there was no answer
)
