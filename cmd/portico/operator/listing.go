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
	// of is the path of a list that belongs to what the first argument names, in place of
	// path; complete completes that argument, missing helps where it is not known.
	of       func(name string) string
	complete cobra.CompletionFunc
	missing  string

	// inSubscriptions: the list belongs to a subscription. Without one it is those of all.
	inSubscriptions bool

	params  []param
	rows    func([]T) []R
	columns []terminal.Column[R]
	none    string // what is said where there is nothing
	// text writes what there is for people; nil: the table of the columns.
	text func(ctx context.Context, a *asking, c *api.Client, to io.Writer, all []T) error
}

// param is a parameter of the query that is a flag.
type param struct {
	name, flag, usage string
	complete          cobra.CompletionFunc // may be nil
	none              string               // what is said where there is nothing with it; "": what the list says
}

// Bounds of lists.
const (
	mostRows    = 1000 // of a table, unless --limit says another number
	largestPage = 1000 // that the service gives
)

// lists makes a noun alone mean its list: portico jobs is portico jobs list, flags and all.
func lists(noun, list *cobra.Command, others ...*cobra.Command) *cobra.Command {
	noun.Args, noun.RunE = list.Args, list.RunE
	noun.Flags().AddFlagSet(list.Flags())
	noun.AddCommand(append(others, list)...)
	return noun
}

// same is for lists each of whose elements is a row.
func same[T any](all []T) []T { return all }

// command returns the command. Its texts are those of its help.
func (l listing[T, R]) command(p Program, use, short, long string) *cobra.Command {
	a := newAsking(p)
	a.missing = l.missing
	limit := 0
	if long == "" {
		long = short + "."
	}
	c := &cobra.Command{
		Use: use, Short: short, Long: long + "\n\n" + findingService, Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, args []string) error {
			l := l
			if l.of != nil {
				l.path = l.of(args[0])
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
	if l.of != nil {
		c.Args, c.ValidArgsFunction = cobra.ExactArgs(1), onlyFirst(l.complete)
	}
	a.Flags(c)
	a.outputFlags(c)
	a.watchFlag(c)
	c.Flags().IntVar(&limit, "limit", 0, fmt.Sprintf("`NUMBER` to show at most; by default %d in a table, all in json and yaml", mostRows))
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

// draw shows the list, and below it what it lacks.
func (l listing[T, R]) draw(ctx context.Context, a *asking, c *api.Client, to io.Writer, query url.Values, limit int) error {
	lacks := ""
	c.Noted = func(note string) { lacks = note }
	if err := l.drawAll(ctx, a, c, to, query, limit); err != nil || lacks == "" {
		return err
	}
	if a.format.ForPrograms() {
		to = a.errs
	}
	_, err := fmt.Fprintln(to, terminal.Clean(lacks))
	return err
}

func (l listing[T, R]) drawAll(ctx context.Context, a *asking, c *api.Client, to io.Writer, query url.Values, limit int) error {
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
		text = func(_ context.Context, a *asking, _ *api.Client, to io.Writer, all []T) error {
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

// elements reads the list, page by page.
func (l listing[T, R]) elements(ctx context.Context, c *api.Client, query url.Values) iter.Seq2[json.RawMessage, error] {
	if !l.inSubscriptions || query.Get("subscription") != "" {
		return c.Pages(ctx, l.path, query)
	}
	return overSubscriptions(ctx, c, l.path, query)
}

// first are so many elements of a sequence; most of 0 or less means all.
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

// table is one of the columns, as the flags want it.
func table[R any](a *asking, columns []terminal.Column[R]) terminal.Table[R] {
	return terminal.Table[R]{Columns: columns, Wide: a.format == terminal.WideFormat, Now: time.Now()}
}

// instant is a time that may be missing.
func instant(at *time.Time) time.Time {
	if at == nil {
		return time.Time{}
	}
	return *at
}
