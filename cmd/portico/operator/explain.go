package operator

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"portico/cmd/portico/terminal"
	"portico/gateway/admin/api"
)

type explainOptions struct {
	question api.Question
	headers  []string
	full     bool
	// Files; "-" is standard input.
	content, bearer, raw string
}

func explainCommand(p Program) *cobra.Command {
	a := newServiceCommand(p)
	var o explainOptions
	c := &cobra.Command{
		Use:   "explain {[METHOD] PATH|ID | --raw FILE}",
		Short: "Explain how a request would be handled, without sending it",
		Long: `Explain how a request would be handled, without sending it.

The running service passes the request through its own handlers. No provider is called,
and nothing is written. An ID alone stands for its GET, with the newest api-version of its
type; portico why ID shows what is known of it.

With --bearer-file the caller signs in by a token, as in the request, and a refusal has its
reason. If the gateway lacks the key that signed the token, --ask fetches the keys of the
issuer. The token appears in no answer and no log.

--raw reads the bytes of an HTTP/1.1 request instead, head and content, as a client sends
them (48 KiB at most), and also shows refusals that come before any handler. The caller is
the one whose credential they contain, unless --as or --bearer-file is given.

If the index does not know whether a resource exists, the answer names the regions that a
request would ask; --ask asks them, and records their answers.

` + findingService + `

Exit status 0: there is an explanation, of whatever outcome. 1: there is none.`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.complete(args); err != nil {
				return err
			}
			return a.withClient(func(service *api.Client) error {
				return send(c.Context(), a, service, a.out, api.Request{Method: http.MethodPost, Path: "/admin/explain", Content: o.question}, o.print)
			})
		},
	}
	a.Flags(c)
	c.Flags().StringVar(&o.question.Principal, "as", "", "object id of the caller; without it roles are not checked")
	c.Flags().StringArrayVar(&o.question.Groups, "group", nil, "object id of a group that the caller belongs to; may be repeated")
	c.Flags().StringVar(&o.question.Tenant, "tenant", "", "tenant of the caller; that of the path's subscription by default")
	c.Flags().StringArrayVar(&o.headers, "header", nil, "a header of the request, as 'Name: value'; may be repeated")
	c.Flags().StringVar(&o.content, "content", "", "file that holds the request's content; - is standard input")
	c.Flags().StringVar(&o.bearer, "bearer-file", "", "`FILE` that holds the bearer token of the caller; - is standard input")
	c.Flags().StringVar(&o.raw, "raw", "", "`FILE` that holds a request as a client sends it; - is standard input")
	c.Flags().BoolVar(&o.question.Ask, "ask", false,
		"ask providers for a resource that the index does not know, and whether they would accept it, and issuers for keys")
	c.Flags().BoolVar(&o.full, "headers", false, "also show the headers that would be sent")
	return c
}

// complete reads the files that arguments and flags name.
func (o *explainOptions) complete(args []string) error {
	switch {
	case o.raw == "" && len(args) == 0:
		return errors.New("which request? Name its path or an ID, or give its bytes by --raw")
	case o.raw != "" && (len(args) > 0 || o.content != "" || len(o.headers) > 0):
		return errors.New("--raw has method, path, headers and content: leave the others out")
	case o.standardInputs() > 1:
		return errors.New("only one of --content, --bearer-file and --raw can be standard input")
	}
	if len(args) == 2 {
		o.question.Method = args[0]
	}
	if len(args) > 0 {
		o.question.Path = args[len(args)-1]
	}
	if err := o.completeHeaders(); err != nil {
		return err
	}
	if o.content != "" {
		text, err := readNamed("content", o.content)
		if err != nil {
			return err
		}
		o.question.Content = string(text)
	}
	if o.raw != "" {
		var err error
		if o.question.Raw, err = readNamed("raw", o.raw); err != nil {
			return err
		}
	}
	if o.bearer == "" {
		return nil
	}
	text, err := readNamed("bearer-file", o.bearer)
	if err != nil {
		return err
	}
	o.question.Token, err = bearerIn(string(text))
	return err
}

func (o *explainOptions) completeHeaders() error {
	for _, header := range o.headers {
		name, value, found := strings.Cut(header, ":")
		name = strings.TrimSpace(name)
		switch {
		case strings.EqualFold(name, "Authorization"):
			return errors.New("--header does not accept Authorization, as others can see the arguments of a command: use --bearer-file")
		case !found:
			return fmt.Errorf("--header %q: want 'Name: value'", header)
		}
		if o.question.Header == nil {
			o.question.Header = map[string]string{}
		}
		o.question.Header[name] = strings.TrimSpace(value)
	}
	return nil
}

// standardInputs returns how many flags name standard input.
func (o *explainOptions) standardInputs() (n int) {
	for _, name := range []string{o.content, o.bearer, o.raw} {
		if name == "-" {
			n++
		}
	}
	return n
}

// readNamed reads the file of a flag. The error does not contain the file's name, which
// may be a token given by mistake.
func readNamed(flag, name string) ([]byte, error) {
	read := func() ([]byte, error) { return os.ReadFile(name) }
	if name == "-" {
		read = func() ([]byte, error) { return io.ReadAll(os.Stdin) }
	}
	text, err := read()
	var failed *fs.PathError
	switch {
	case errors.As(err, &failed):
		return nil, fmt.Errorf("--%s: the file cannot be read: %w", flag, failed.Err)
	case err != nil:
		return nil, fmt.Errorf("--%s: %w", flag, err)
	case len(text) == 0:
		return nil, fmt.Errorf("--%s: it is empty", flag)
	}
	return text, nil
}

// bearerIn returns the token in a file, which may be preceded by its scheme, as in a
// header.
func bearerIn(text string) (string, error) {
	words := strings.Fields(text)
	if len(words) > 0 && strings.EqualFold(strings.TrimSuffix(words[0], ":"), "Authorization") {
		words = words[1:]
	}
	if len(words) == 2 && strings.EqualFold(words[0], "Bearer") {
		words = words[1:]
	}
	if len(words) != 1 {
		return "", errors.New("--bearer-file: the file has to hold one token, alone or as 'Bearer TOKEN'")
	}
	return words[0], nil
}

// print writes an explanation for people: the verdict first, then the steps.
func (o *explainOptions) print(w io.Writer, e api.Explanation) error {
	p := new(explanationLines)
	p.writeLine("%s", e.Verdict.Summary)
	for _, held := range e.HeldBy {
		p.writeWaiting(held)
	}
	p.writeLine("")
	if e.Request.Method != "" {
		p.writeLine("%s %s", e.Request.Method, e.Request.Path)
	}
	if what := strings.TrimSpace(e.Request.ResourceType + " " + e.Request.Kind); what != "" {
		p.writeLine("  %s: %s", e.Request.Class, what)
	}
	switch {
	case e.Caller.ObjectID == "":
	case e.Caller.TenantID == "":
		p.writeLine("  caller %s", e.Caller.ObjectID)
	default:
		p.writeLine("  caller %s of tenant %s", e.Caller.ObjectID, e.Caller.TenantID)
	}
	if s := e.SignIn; s != nil && s.Challenge != "" {
		p.writeLine("  WWW-Authenticate: %s", s.Challenge)
	}
	for _, check := range e.Checks {
		p.writeLine("%s", strings.TrimRight(fmt.Sprintf("  %-14s  %-7s  %s", check.Step, markOf(e, check), check.Detail), " "))
	}
	if len(e.Judges) > 0 {
		p.writeLine("")
		p.writeLine("if the body were planned")
	}
	for _, judge := range e.Judges {
		p.writeLine("%s", strings.TrimRight(fmt.Sprintf("  %-14s  %-8s  %s", judge.Judge, verdicts[judge.Verdict], judge.Detail), " "))
	}
	for _, call := range e.Calls {
		o.printCall(p, call)
	}
	if e.Known != nil {
		p.writeLine("")
		p.writeLine("what is known of it: portico why '%s'", strings.ReplaceAll(e.Known.ID, "'", `'\''`))
	}
	_, err := io.WriteString(w, p.String())
	return err
}

// verdicts are the shown forms of the verdicts of judges.
var verdicts = map[string]string{api.Accepts: "accepts", api.Refuses: "REFUSES", api.Skipped: "-"}

func markOf(e api.Explanation, check api.ExplainedCheck) string {
	switch {
	case check.Passed:
		return "passed"
	case e.Verdict.Outcome == api.Open:
		return "open"
	}
	return "REFUSED"
}

func (o *explainOptions) printCall(p *explanationLines, call api.ExplainedCall) {
	would := "would call"
	if call.Sent {
		would = "called"
	}
	p.writeLine("")
	p.writeLine("%s (%s) %s %s %s", would, call.Purpose, call.Region, call.Method, call.Path)
	for _, a := range call.Addresses {
		state := a.State
		if a.Circuit != "closed" {
			state += ", circuit " + a.Circuit
		}
		if !a.Candidate {
			state += ", not chosen"
		}
		p.writeLine("  %s  %s", a.URL, state)
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
		p.writeLine("  %s: %s", h.Name, value)
	}
}

// explanationLines are the lines of an explanation. Names and answers, which others
// chose, are cleaned of control characters.
type explanationLines struct{ strings.Builder }

func (p *explanationLines) writeLine(format string, args ...any) {
	p.WriteString(terminal.Clean(fmt.Sprintf(format, args...)) + "\n")
}

// writeWaiting writes what holds a request up, and how it continues.
func (p *explanationLines) writeWaiting(w api.Waiting) {
	said := "  held by " + w.Reason
	if w.On != "" {
		said += " on " + w.On
	}
	said += " since " + api.Stamp(w.Since) + ": " + w.Text()
	if w.Job != "" {
		said += " (job " + w.Job + ")"
	}
	p.writeLine("%s", said)
	if w.Command != "" {
		p.writeLine("    continue with: %s", w.Command)
	}
}
