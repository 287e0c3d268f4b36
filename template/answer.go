package template

import (
	"context"
	"strings"

	"portico/template/expr"
	"portico/template/function"
)

// Question is a call of reference or list* that a provider must answer.
type Question struct {
	Function   string // reference, or the name of a list* action
	ID         string // resource ID
	APIVersion string
	Full       bool       // reference only: return the whole resource, not only its properties
	Values     expr.Value // list* only: the request body of the action; null if there is none
	Path       []string   // member names, outermost first: only this part of the answer is used
}

// secureOutputs is the template function that returns a deployment's outputs including secrets.
const secureOutputs = "listOutputsWithSecureValues"

// AsksForOutputs reports whether q asks for a deployment's outputs including secrets. No provider knows
// them: use the [OutputValues] of the deployment in the plan.
func (q Question) AsksForOutputs() bool {
	return strings.EqualFold(q.Function, secureOutputs) && isDeploymentID(q.ID)
}

func isDeploymentID(id string) bool {
	return strings.Contains(strings.ToLower(id), "/providers/microsoft.resources/deployments/")
}

// Finish evaluates a value of a plan completely; answer is called for each question in it. If ctx
// ends, Finish returns its error.
func Finish(ctx context.Context, v expr.Value, in Input, answer func(Question) (expr.Value, error)) (expr.Value, error) {
	if err := in.Allowance.begin(); err != nil {
		return v, err
	}
	env := &expr.Env{
		Library: answerLibrary(answer), Budget: expr.NewBudget(ctx, maxSteps, maxSpent, maxDepth),
		Scope: in.Scope, Now: in.Now, NewGUID: in.NewGUID,
	}
	defer in.Allowance.end(env.Budget)
	return expr.Finish(v, env)
}

type answerLibrary func(Question) (expr.Value, error)

// Find implements expr.Library.
func (a answerLibrary) Find(_, name string) *expr.Function {
	if asksProvider(name) {
		return &expr.Function{Name: name, Min: 2, Max: 3, Params: questionParams, Call: a.answerQuestion}
	}
	return function.Find(name)
}

var questionParams = []expr.Param{
	{Name: "resourceId", Kinds: expr.String}, {Name: "apiVersion", Kinds: expr.String}, {Name: "'Full' or values", Kinds: expr.String | expr.Object},
}

// Names implements expr.Library. It returns nothing to suggest, because Expand has checked all
// names.
func (a answerLibrary) Names(string) []string { return nil }

func (a answerLibrary) answerQuestion(c *expr.Call, args []expr.Value) (expr.Value, error) {
	q := Question{Function: c.Name, ID: args[0].Text(), APIVersion: args[1].Text(), Path: c.Path}
	if len(args) > 2 {
		q.Full = args[2].Is(expr.String)
		if !q.Full {
			q.Values = args[2]
		}
	}
	return a(q)
}
