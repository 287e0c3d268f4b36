package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"portico/cmd/portico/operator"
	"portico/cmd/portico/terminal"
	"portico/template"
	"portico/template/document"
	"portico/template/expr"
)

const zeroUUID = "00000000-0000-0000-0000-000000000000"

func templateCommand(stdout, stderr io.Writer) *cobra.Command {
	t := templateRun{stdout: stdout, stderr: stderr, format: terminal.TableFormat}
	c := &cobra.Command{
		Use:   "template FILE",
		Short: "Show what a template would deploy, without a service",
		Long: "Show what an ARM template would deploy, in an order in which its resources could be sent: loops and nested deployments are " +
			"expanded, resources with a false condition are left out. With json and yaml, each resource has its body; a part that needs a " +
			"provider's answer is an expression, evaluated where possible. What only a service knows is made up: deployer() is a user with " +
			"an object id of zeros, subscription().displayName is 'subscription', and environment() is the public cloud's. Faults are lines of " +
			"the form FILE:line:column: path: code: sentence.",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return t.run(c.Context(), args[0]) },
	}
	flags := c.Flags()
	flags.StringArrayVarP(&t.parameters, "parameters", "p", nil,
		"parameters: a parameter `FILE`, also as @FILE, or NAME=VALUE, as az accepts them; the last one counts")
	flags.StringVar(&t.scope, "scope", "/subscriptions/"+zeroUUID+"/resourceGroups/template",
		"the `ID` of the group or subscription that the template is deployed to")
	flags.StringVar(&t.location, "location", "westus", "the group's `LOCATION`; at a subscription, the deployment's")
	t.format.Flag(c, "output format")
	return c
}

type templateRun struct {
	stdout, stderr  io.Writer
	parameters      []string
	scope, location string
	format          terminal.Format
}

func (t *templateRun) run(ctx context.Context, file string) error {
	scope, err := deploymentScope(t.scope)
	if err != nil {
		return err
	}
	root, err := t.read(file)
	if err != nil {
		return err
	}
	arguments, err := t.arguments(root)
	if err != nil {
		return err
	}
	plan, faults, err := template.Expand(ctx, template.Input{Template: root, Arguments: arguments, Name: "main", Scope: scope,
		Location: t.location, Now: time.Now().UTC(), NewGUID: uuid.NewString})
	if err != nil {
		return err
	}
	if len(faults) > 0 {
		return t.report(faults)
	}
	if t.format.ForPrograms() {
		return t.format.WriteDocument(t.stdout, plan.Document().AppendJSON(nil))
	}
	return t.table(plan)
}

func deploymentScope(id string) (expr.Scope, error) {
	segments := strings.Split(strings.Trim(id, "/"), "/")
	scope := expr.Scope{Tenant: zeroUUID}
	switch {
	case len(segments) == 2 && strings.EqualFold(segments[0], "subscriptions"):
		scope.Subscription = segments[1]
	case len(segments) == 4 && strings.EqualFold(segments[0], "subscriptions") && strings.EqualFold(segments[2], "resourceGroups"):
		scope.Subscription, scope.Group = segments[1], segments[3]
	default:
		return scope, fmt.Errorf("--scope %s: want the ID of a resource group or a subscription", id)
	}
	return scope, nil
}

// read reads a file as az does, with comments in it.
func (t *templateRun) read(file string) (*document.Node, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	d, faults := document.Read(text, document.Relaxed, template.Code)
	for _, f := range faults {
		f.File = file
	}
	if len(faults) > 0 {
		return nil, t.report(faults)
	}
	d.File = file
	return d.Root, nil
}

func (t *templateRun) report(faults []*document.Fault) error {
	for _, f := range faults {
		fmt.Fprintf(t.stderr, "%s:%s\n", f.File, terminal.Clean(f.Error()))
	}
	return operator.ErrReported
}

// arguments returns the given parameters; the last one of a name counts.
func (t *templateRun) arguments(root *document.Node) ([]template.Argument, error) {
	var all []template.Argument
	for _, given := range t.parameters {
		name, value, isPair := strings.Cut(given, "=")
		if isPair && !strings.HasPrefix(given, "@") {
			argument, err := pairArgument(root, name, value)
			if err != nil {
				return nil, err
			}
			all = append(all, argument)
			continue
		}
		file, err := t.read(strings.TrimPrefix(given, "@"))
		if err != nil {
			return nil, err
		}
		arguments, faults := template.ReadArguments(file)
		if len(faults) > 0 {
			return nil, t.report(faults)
		}
		all = append(all, arguments...)
	}
	return all, nil
}

// pairArgument reads NAME=VALUE: a string if the parameter is one, else JSON.
func pairArgument(root *document.Node, name, value string) (template.Argument, error) {
	if file, isFile := strings.CutPrefix(value, "@"); isFile {
		text, err := os.ReadFile(file)
		if err != nil {
			return template.Argument{}, err
		}
		value = string(text)
	}
	kind := strings.ToLower(root.Member("parameters").Member(name).Member("type").Text())
	argument := template.Argument{Name: name, Value: expr.StringOf(value)}
	if kind == "string" || kind == "securestring" {
		return argument, nil
	}
	if d, faults := document.Read([]byte(value), document.Relaxed, template.Code); len(faults) == 0 {
		argument.Value = d.Root.Value
	}
	return argument, nil
}

// table shows the plan to people: each resource has a number, and lists the numbers of
// those it waits for.
func (t *templateRun) table(plan *template.Plan) error {
	order := make(map[*template.Resource]int, len(plan.Resources))
	for i, r := range plan.Resources {
		order[r] = i + 1
	}
	table := terminal.Table[*template.Resource]{Wide: t.format == terminal.WideFormat, Columns: []terminal.Column[*template.Resource]{
		{Title: "ORDER", Right: true, Cell: func(r *template.Resource) string { return strconv.Itoa(order[r]) }},
		{Title: "RESOURCE", Least: 24, Cut: terminal.CutStart, Cell: resourceCell},
		{Title: "WAITS FOR", Least: 9, Cell: func(r *template.Resource) string {
			numbers := make([]string, len(r.DependsOn))
			for i, other := range r.DependsOn {
				numbers[i] = strconv.Itoa(order[other])
			}
			return strings.Join(numbers, ", ")
		}},
		{Title: "ID", Wide: true, Cell: func(r *template.Resource) string { return r.ID }},
	}}
	return table.Write(terminal.On(t.stdout), t.stdout, plan.Resources)
}

func resourceCell(r *template.Resource) string {
	if r.Existing {
		return r.Type + " " + r.Name + " (existing)"
	}
	return r.Type + " " + r.Name
}
