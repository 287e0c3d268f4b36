package template

import (
	"context"
	"strings"

	"portico/template/expr"
	"portico/template/function"
)

// Question is what a Pending value asks a provider.
type Question struct {
	Function   string // reference, or one whose name begins with list: the action
	ID         string // of the resource
	APIVersion string
	Full       bool       // reference: the whole resource rather than its properties
	Values     expr.Value // list*: the action's content; null where there is none
	Path       []string   // the names of the members that alone are taken of the answer
}

// secureOutputs is the function of a deployment's outputs with their secrets.
const secureOutputs = "listOutputsWithSecureValues"

// OfOutputs reports whether it asks for the outputs of a deployment with their secrets. No
// provider has them: they are the [OutputValues] of the deployment in the plan.
func (q Question) OfOutputs() bool {
	return strings.EqualFold(q.Function, secureOutputs) && isDeploymentID(q.ID)
}

func isDeploymentID(id string) bool {
	return strings.Contains(strings.ToLower(id), "/providers/microsoft.resources/deployments/")
}

// Finish works a value of a plan out, with answers to its questions. Once the context ends, it
// ends with the context's error.
func Finish(ctx context.Context, v expr.Value, in Input, answer func(Question) (expr.Value, error)) (expr.Value, error) {
	if err := in.Allowance.begin(); err != nil {
		return v, err
	}
	env := &expr.Env{Library: answering(answer), Budget: expr.NewBudget(ctx, maxSteps, maxSpent, maxDepth), Scope: in.Scope, Now: in.Now, NewGUID: in.NewGUID}
	defer in.Allowance.end(env.Budget)
	return expr.Finish(v, env)
}

type answering func(Question) (expr.Value, error)

// Find implements expr.Library.
func (a answering) Find(_, name string) *expr.Function {
	if asks(name) {
		return &expr.Function{Name: name, Min: 2, Max: 3, Params: questionParams, Call: a.ask}
	}
	return function.Find(name)
}

var questionParams = []expr.Param{
	{Name: "resourceId", Kinds: expr.String}, {Name: "apiVersion", Kinds: expr.String}, {Name: "'Full' or values", Kinds: expr.String | expr.Object},
}

// Names implements expr.Library: nothing is guessed here, since Expand checked all names.
func (a answering) Names(string) []string { return nil }

func (a answering) ask(c *expr.Call, args []expr.Value) (expr.Value, error) {
	q := Question{Function: c.Name, ID: args[0].Text(), APIVersion: args[1].Text(), Path: c.Path}
	if len(args) > 2 {
		q.Full = args[2].Is(expr.String)
		if !q.Full {
			q.Values = args[2]
		}
	}
	return a(q)
}
