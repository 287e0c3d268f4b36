package operator

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"portico/gateway/admin/api"
	"portico/gateway/admin/client"
)

// explainOptions are the flags of the command.
type explainOptions struct {
	question api.Question
	headers  []string
	content  string // a file
	full     bool
}

func explainCommand(p Program) *cobra.Command {
	a := newAsking(p)
	var o explainOptions
	c := &cobra.Command{
		Use:   "explain [METHOD] PATH|ID",
		Short: "Say which way a request would take, without sending it",
		Long: `Say which way a request would take, without sending it.

The running service has the request go through its own handlers. No provider is
called, and nothing is written. An ID alone is a GET of it, by the newest
api-version of its type, with all that is known of it.

Where the index does not know whether a resource exists, the answer names the
regions that a request would ask; --ask asks them, and records what they say.

` + findingService + `

Exit status 0: there is an explanation, whatever it says. 1: there is none.`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 2 {
				o.question.Method = args[0]
			}
			o.question.Path = args[len(args)-1]
			if err := o.complete(); err != nil {
				return err
			}
			return a.with(func(service *client.Client) error {
				return send(c.Context(), a, service, a.out, client.Request{Method: http.MethodPost, Path: "/admin/explain", Content: o.question}, o.print)
			})
		},
	}
	a.Flags(c)
	a.outputFlags(c)
	c.Flags().StringVar(&o.question.Principal, "as", "", "object id of the caller; without it nobody is asked for roles")
	c.Flags().StringArrayVar(&o.question.Groups, "group", nil, "object id of a group that the caller belongs to; may be repeated")
	c.Flags().StringVar(&o.question.Tenant, "tenant", "", "tenant of the caller; that of the path's subscription by default")
	c.Flags().StringArrayVar(&o.headers, "header", nil, "a header of the request, as 'Name: value'; may be repeated")
	c.Flags().StringVar(&o.content, "content", "", "file that holds the request's content; - is standard input")
	c.Flags().BoolVar(&o.question.Ask, "ask", false, "ask providers where a resource lies that the index does not know")
	c.Flags().BoolVar(&o.full, "headers", false, "show also the headers that go out")
	return c
}

// complete reads what flags only name.
func (o *explainOptions) complete() error {
	for _, header := range o.headers {
		name, value, found := strings.Cut(header, ":")
		if !found {
			return fmt.Errorf("--header %q: want 'Name: value'", header)
		}
		if o.question.Header == nil {
			o.question.Header = map[string]string{}
		}
		o.question.Header[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	if o.content == "" {
		return nil
	}
	read := func() ([]byte, error) { return os.ReadFile(o.content) }
	if o.content == "-" {
		read = func() ([]byte, error) { return io.ReadAll(os.Stdin) }
	}
	text, err := read()
	if err == nil && len(text) == 0 {
		err = errors.New("the content is empty")
	}
	o.question.Content = string(text)
	return err
}

// print writes an explanation for people: the verdict first, then the way.
func (o *explainOptions) print(w io.Writer, e api.Explanation) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n%s %s\n", e.Verdict.Summary, e.Request.Method, e.Request.Path)
	if what := strings.TrimSpace(e.Request.ResourceType + " " + e.Request.Kind); what != "" {
		fmt.Fprintf(&b, "  %s: %s\n", e.Request.Class, what)
	}
	switch {
	case e.Caller.ObjectID == "":
	case e.Caller.TenantID == "":
		fmt.Fprintf(&b, "  caller %s\n", e.Caller.ObjectID)
	default:
		fmt.Fprintf(&b, "  caller %s of tenant %s\n", e.Caller.ObjectID, e.Caller.TenantID)
	}
	for _, check := range e.Checks {
		mark := "passed"
		if !check.Passed {
			mark = "REFUSED"
		}
		fmt.Fprintln(&b, strings.TrimRight(fmt.Sprintf("  %-14s  %-7s  %s", check.Step, mark, check.Detail), " "))
	}
	for _, call := range e.Calls {
		o.printCall(&b, call)
	}
	if e.Known != nil {
		printKnown(&b, e.Known)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (o *explainOptions) printCall(b *strings.Builder, call api.ExplainedCall) {
	would := "would call"
	if call.Made {
		would = "called"
	}
	fmt.Fprintf(b, "\n%s (%s) %s %s %s\n", would, call.Purpose, call.Region, call.Method, call.Path)
	for _, a := range call.Addresses {
		state := a.State
		if a.Circuit != "closed" {
			state += ", circuit " + a.Circuit
		}
		if !a.Candidate {
			state += ", not chosen"
		}
		fmt.Fprintf(b, "  %s  %s\n", a.URL, state)
	}
	if !o.full {
		return
	}
	for _, h := range call.Headers {
		value := h.Value
		switch {
		case h.Origin == api.OfSecret:
			value = "(a secret)"
		case h.Origin == api.OfClient:
			value = "(the client's)"
		case h.Varies:
			value = "(another one for each request)"
		}
		fmt.Fprintf(b, "  %s: %s\n", h.Name, value)
	}
}

// printKnown writes what is known of the resource that the path names.
func printKnown(b *strings.Builder, known *api.ResourceDetail) {
	fmt.Fprintf(b, "\nknown of %s\n", known.ID)
	switch {
	case known.Row != nil:
		fmt.Fprintf(b, "  row: %s in %s, %s\n", known.Row.Type, known.Row.Region, strings.Join(append([]string{known.Row.Phase}, known.Row.Flags...), " "))
	case known.Group != nil:
		fmt.Fprintf(b, "  a resource group in %s, %s\n", known.Group.Location, known.Group.State)
	case known.Subscription != nil:
		fmt.Fprintf(b, "  a subscription, %s\n", known.Subscription.State)
	default:
		fmt.Fprintf(b, "  the index has no row\n")
	}
	const seconds = "2006-01-02 15:04:05Z"
	for _, w := range known.Waiting {
		fmt.Fprintf(b, "  waits since %s: %s", w.Since.UTC().Format(seconds), w.Message)
		if w.Until != nil {
			fmt.Fprintf(b, " Until %s.", w.Until.UTC().Format(seconds))
		}
		if w.Next != nil {
			fmt.Fprintf(b, " Next try %s.", w.Next.UTC().Format(seconds))
		}
		if w.LastOutcome != "" {
			fmt.Fprintf(b, " Last: %s", w.LastOutcome)
		}
		if w.Job != "" {
			fmt.Fprintf(b, " (job %s)", w.Job)
		}
		b.WriteString("\n")
	}
	for _, f := range known.Fences {
		fmt.Fprintf(b, "  fenced until %s: %s in %s\n", f.Until.UTC().Format(seconds), f.Reason, f.Region)
	}
	for _, l := range known.Locks {
		fmt.Fprintf(b, "  lock %s (%s) on %s\n", l.Name, l.Level, l.Scope)
	}
	for _, event := range known.Events {
		fmt.Fprintf(b, "  %s %s %s by %s\n", event.Time.UTC().Format(seconds), event.Action, event.Status, event.Caller)
	}
}
