package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/spf13/cobra"

	"portico/cmd/portico/terminal"
	"portico/gateway/admin/api"
)

// serviceCommand is a command that calls a running service.
type serviceCommand struct {
	Target
	Program
	out, errs *terminal.Screen
	format    terminal.Format
	watch     time.Duration // between two pictures; 0: show one
	// missing is the advice if the service does not know the requested object.
	missing string
	found   service
}

func newServiceCommand(p Program) *serviceCommand {
	return &serviceCommand{Program: p, out: terminal.On(p.Stdout), errs: terminal.On(p.Stderr), format: terminal.TableFormat}
}

// Flags adds the flags that name the service, and the flag for the form of its answer.
func (a *serviceCommand) Flags(c *cobra.Command) {
	a.Target.Flags(c)
	a.format.Flag(c, "output format; json and yaml show the service's answer unchanged")
}

// Times between two pictures.
const (
	usualWatch    = "2s"
	shortestWatch = 100 * time.Millisecond
)

func (a *serviceCommand) watchFlag(c *cobra.Command) {
	c.Flags().DurationVar(&a.watch, "watch", 0, "repeat until Ctrl-C, with this much time between")
	c.Flags().Lookup("watch").NoOptDefVal = usualWatch
}

// connect finds the service. The caller closes the client.
func (a *serviceCommand) connect() (*api.Client, error) {
	if a.watch != 0 && a.watch < shortestWatch {
		return nil, fmt.Errorf("--watch: want %s or more", shortestWatch)
	}
	found, err := a.find()
	if err != nil {
		return nil, err
	}
	a.found = found
	return found.client()
}

// picture draws an answer of the service.
type picture func(ctx context.Context, c *api.Client, to io.Writer) error

// show draws a picture, or with --watch one after the other. While watching, the service
// may be away for a time.
func (a *serviceCommand) show(ctx context.Context, draw picture) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	defer c.Close()
	if a.watch == 0 {
		return a.advise(draw(ctx, c, a.out))
	}
	drawn := false
	return a.out.Watch(ctx, a.watch, func(ctx context.Context, to io.Writer) error {
		err := draw(ctx, c, to)
		if err == nil || !drawn || !isTemporary(err) {
			drawn = true
			return a.advise(err)
		}
		to = a.errs
		if a.out.IsTerminal() {
			to = a.out
		}
		_, err = fmt.Fprintln(to, terminal.Clean(err.Error()))
		return err
	})
}

// isTemporary reports whether an error may go away by itself.
func isTemporary(err error) bool {
	if _, away := errors.AsType[*api.UnreachableError](err); away {
		return true
	}
	refusal, ok := errors.AsType[*api.Refusal](err)
	return ok && (refusal.Status >= http.StatusInternalServerError || refusal.Status == http.StatusTooManyRequests)
}

func (a *serviceCommand) advise(err error) error { return a.found.advise(err, a.missing) }

// columns returns how long a line of text may be; 0: any length.
func (a *serviceCommand) columns() int {
	if a.format == terminal.WideFormat {
		return 0
	}
	return a.out.Width()
}

// showOne returns a picture of one value: text writes it for people.
func showOne[T any](a *serviceCommand, path string, query url.Values, text func(to io.Writer, value T) error) picture {
	return func(ctx context.Context, c *api.Client, to io.Writer) error {
		return send(ctx, a, c, to, api.Request{Method: http.MethodGet, Path: path, Query: query}, text)
	}
}

// write writes an answer in the requested form.
func write[T any](a *serviceCommand, to io.Writer, answer api.Answer, text func(to io.Writer, value T) error) error {
	if a.format.ForPrograms() {
		return a.format.WriteDocument(to, answer.Text)
	}
	var value T
	if err := answer.Read(&value); err != nil {
		return err
	}
	return text(to, value)
}

func send[T any](ctx context.Context, a *serviceCommand, c *api.Client, to io.Writer, r api.Request, text func(to io.Writer, value T) error) error {
	answer, err := c.Do(ctx, r)
	if err != nil {
		return err
	}
	return write(a, to, answer, text)
}

// withClient calls do with a client of the service, and adds advice to its error.
func (a *serviceCommand) withClient(ask func(*api.Client) error) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	defer c.Close()
	return a.advise(ask(c))
}

// tokenless reports whether there is no token to send.
func (s service) tokenless() bool { return s.tokenFile == "" && os.Getenv(TokenVariable) == "" }
