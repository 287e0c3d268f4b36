package operator

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"portico/cmd/portico/terminal"
	"portico/gateway/admin/api"
)

// listing is a command that shows a list of Ts, as a table of rows R.
type listing[T, R any] struct {
	path string
	// pathFor, if set, returns the path for the command's argument and replaces path;
	// complete completes that argument, missing is the advice if it is not known.
	pathFor  func(name string) string
	complete cobra.CompletionFunc
	missing  string

	// inSubscriptions: the list belongs to a subscription. Without one, the lists of all
	// subscriptions are concatenated.
	inSubscriptions bool

	params  []param
	rows    func([]T) []R
	columns []terminal.Column[R]
	none    string // the message for an empty list
	// text writes the list for people; nil: as a table of columns.
	text func(ctx context.Context, a *serviceCommand, c *api.Client, to io.Writer, all []T) error
}

// param is a parameter of the query that is a flag.
type param struct {
	name, flag, usage string
	complete          cobra.CompletionFunc // may be nil
	none              string               // the message for an empty list with the flag; "": the list's
}

// Bounds of lists.
const (
	mostRows    = 1000 // of a table, unless --limit is given
	largestPage = 1000 // of the service
)

// withList makes a noun an alias of its list command: portico jobs is portico jobs list,
// with the same flags.
func withList(noun, list *cobra.Command, others ...*cobra.Command) *cobra.Command {
	noun.Args, noun.RunE = list.Args, list.RunE
	noun.Flags().AddFlagSet(list.Flags())
	noun.AddCommand(append(others, list)...)
	return noun
}

// same is the rows function for lists whose elements are the rows.
func same[T any](all []T) []T { return all }

// command returns the command with the given help texts.
func (l listing[T, R]) command(p Program, use, short, long string) *cobra.Command {
	a := newServiceCommand(p)
	a.missing = l.missing
	limit := 0
	if long == "" {
		long = short + "."
	}
	c := &cobra.Command{
		Use: use, Short: short, Long: long + "\n\n" + findingService, Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, args []string) error {
			l := l
			if l.pathFor != nil {
				l.path = l.pathFor(args[0])
			}
			for _, param := range l.params {
				if param.none != "" && c.Flags().Changed(param.flag) {
					l.none = param.none
				}
			}
			return a.show(c.Context(), func(ctx context.Context, service *api.Client, to io.Writer) error {
				return l.draw(ctx, a, service, to, l.query(c), limit)
			})
		},
	}
	if l.pathFor != nil {
		c.Args, c.ValidArgsFunction = cobra.ExactArgs(1), onlyFirst(l.complete)
	}
	a.Flags(c)
	a.watchFlag(c)
	c.Flags().IntVar(&limit, "limit", 0, fmt.Sprintf("show at most this `NUMBER`; by default %d in a table, all in json and yaml", mostRows))
	for _, param := range l.params {
		c.Flags().String(param.flag, "", param.usage)
		if param.complete != nil {
			_ = c.RegisterFlagCompletionFunc(param.flag, param.complete)
		}
	}
	return c
}

func (l listing[T, R]) query(c *cobra.Command) url.Values {
	query := url.Values{}
	for _, param := range l.params {
		if value, err := c.Flags().GetString(param.flag); err == nil && value != "" {
			query.Set(param.name, value)
		}
	}
	return query
}

// draw shows the list, and below it the service's note about what is missing.
func (l listing[T, R]) draw(ctx context.Context, a *serviceCommand, c *api.Client, to io.Writer, query url.Values, limit int) error {
	lacks := ""
	c.OnNote = func(note string) { lacks = note }
	if err := l.drawAll(ctx, a, c, to, query, limit); err != nil || lacks == "" {
		return err
	}
	if a.format.ForPrograms() {
		to = a.errs
	}
	_, err := fmt.Fprintln(to, terminal.Clean(lacks))
	return err
}

func (l listing[T, R]) drawAll(ctx context.Context, a *serviceCommand, c *api.Client, to io.Writer, query url.Values, limit int) error {
	size := largestPage
	if limit > 0 {
		size = min(size, limit)
	}
	query.Set("limit", strconv.Itoa(size))
	if a.format.ForPrograms() {
		return a.format.WriteList(to, first(l.elements(ctx, c, query), limit), nil)
	}
	most := limit
	if most <= 0 {
		most = mostRows
	}
	all, more, err := api.ReadElements[T](l.elements(ctx, c, query), l.path, most)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(to, l.none)
		return err
	}
	text := l.text
	if text == nil {
		text = func(_ context.Context, a *serviceCommand, _ *api.Client, to io.Writer, all []T) error {
			return table(a, l.columns).Write(a.out, to, l.rows(all))
		}
	}
	if err := text(ctx, a, c, to, all); err != nil {
		return err
	}
	if more {
		fmt.Fprintf(a.errs, "These are the first %d. More: --limit NUMBER\n", most)
	}
	return nil
}

func (l listing[T, R]) elements(ctx context.Context, c *api.Client, query url.Values) iter.Seq2[json.RawMessage, error] {
	if !l.inSubscriptions || query.Get("subscription") != "" {
		return c.Pages(ctx, l.path, query)
	}
	return overSubscriptions(ctx, c, l.path, query)
}

// first returns the first most elements of a sequence; all if most is 0 or less.
func first[E any](all iter.Seq2[E, error], most int) iter.Seq2[E, error] {
	return func(yield func(E, error) bool) {
		n := 0
		for e, err := range all {
			if !yield(e, err) {
				return
			}
			if n++; n == most {
				return
			}
		}
	}
}

// table returns a table of the columns, in the form that the flags ask for.
func table[R any](a *serviceCommand, columns []terminal.Column[R]) terminal.Table[R] {
	return terminal.Table[R]{Columns: columns, Wide: a.format == terminal.WideFormat, Now: time.Now()}
}

// instant returns the time at points to, zero if at is nil.
func instant(at *time.Time) time.Time {
	if at == nil {
		return time.Time{}
	}
	return *at
}
