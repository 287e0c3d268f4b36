// Package template expands ARM templates into plans of resources to deploy. It is pure: it reads no
// files, calls no services, and takes the time from its input.
package template

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"portico/template/document"
	"portico/template/expr"
)

// Code is the code of all faults, as in ARM.
const Code = "InvalidTemplate"

// MaxResources is the maximum number of resources in a deployment, including nested deployments.
const MaxResources = 800

// ARM's limits.
const (
	maxResources  = MaxResources
	maxParameters = 256
	maxVariables  = 256
	maxOutputs    = 64
	maxNesting    = 8 // of deployments
)

// Budget of one template's expressions.
const (
	maxSteps = 1_000_000
	maxSpent = 32 << 20
	maxDepth = 512
)

// maxFaults is the number of faults after which expansion stops.
const maxFaults = 50

// maxMessage is the maximum length of a fault's message, which may quote the template.
const maxMessage = 4 << 10

// maxRepeated is the number of repeated faults, in loops, after which expansion stops.
const maxRepeated = 500

// Input is a template with its parameters and context.
type Input struct {
	Template *document.Node
	// Arguments are the parameters' values.
	Arguments []Argument
	// Name is the deployment's name.
	Name  string
	Scope expr.Scope
	// Location is the location of a deployment to a subscription; for a deployment to a group, the
	// group's.
	Location string
	// Mode is the deployment's mode: Complete, or Incremental by default.
	Mode string
	// Group, Subscription, Deployer and Environment are the results of resourceGroup() and so on. A
	// null Group is derived from Scope and Location; a Group that the caller may not read has only
	// id, name and type. The others, if null, default to a placeholder, or to the public cloud.
	Group, Subscription, Deployer, Environment expr.Value
	Now                                        time.Time
	// NewGUID returns a random UUID. The order of calls is the same for the same template, so a
	// fixed seed makes expansion reproducible.
	NewGUID func() string
	// Allowance is shared by all evaluations of the deployment.
	Allowance *Allowance
}

// Argument is a parameter's value.
type Argument struct {
	Name  string
	Value expr.Value
	At    *document.Node // for faults; nil if the value is not from a document
}

// Expand expands a template. If there are faults, the plan has only its Secrets, because the faults
// may quote them. The error is ctx.Err().
func Expand(ctx context.Context, in Input) (*Plan, []*document.Fault, error) {
	if err := in.Allowance.begin(); err != nil {
		return &Plan{}, []*document.Fault{in.Template.Fault(Code, "%v", err)}, nil
	}
	e := &expansion{in: in, ended: ctx.Err, budget: expr.NewBudget(ctx, maxSteps, maxSpent, maxDepth), parsed: map[string]parsed{},
		constant: map[*document.Node]expr.Value{}, seen: map[faultKey]bool{}, plan: &Plan{}}
	defer in.Allowance.end(e.budget)
	s := e.newScope(in.Template, in.Scope, in.Name, expr.StringOf(in.Location))
	s.read(in.Arguments)
	if s.declare(); !e.exhausted {
		s.expand()
		e.plan.Outputs = s.outputs()
		e.plan.Parameters = s.parameterValues()
	}
	if len(e.faults) == 0 {
		s.emit()
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if len(e.faults) > 0 {
		return &Plan{Secrets: e.plan.Secrets}, e.sortedFaults(), nil
	}
	return e.plan, nil, nil
}

// expansion is the state that all templates of an Expand share.
type expansion struct {
	in        Input
	ended     func() error // the context's Err
	budget    *expr.Budget
	parsed    map[string]parsed
	constant  map[*document.Node]expr.Value // cached values without expressions
	faults    []*document.Fault
	seen      map[faultKey]bool
	plan      *Plan
	repeated  int  // number of repeated faults
	count     int  // number of declared resources
	muted     bool // faults are dropped
	exhausted bool // a limit is exceeded, so evaluation stops
}

type parsed struct {
	node expr.Node
	err  error
}

// recordSecret adds v to the plan's secrets if it has secret parts.
func (e *expansion) recordSecret(v expr.Value) {
	if v.Secure() {
		e.plan.Secrets = append(e.plan.Secrets, v)
	}
}

// faultKey identifies a fault: a loop meets the same one in each iteration.
type faultKey struct {
	at      *document.Node
	inside  int
	message string
}

func (e *expansion) fault(at *document.Node, format string, args ...any) {
	e.report(faultKey{at, 0, fmt.Sprintf(format, args...)}, func(p faultKey) *document.Fault { return at.Fault(Code, "%s", p.message) })
}

// keyFault reports a fault at a member's name.
func (e *expansion) keyFault(of *document.Node, m document.Member, format string, args ...any) {
	e.report(faultKey{m.Node, -1, fmt.Sprintf(format, args...)}, func(p faultKey) *document.Fault { return of.KeyFault(m, Code, "%s", p.message) })
}

func (e *expansion) report(p faultKey, fault func(faultKey) *document.Fault) {
	if e.muted {
		return
	}
	p.message = expr.Shorten(p.message, maxMessage)
	if e.seen[p] {
		e.repeated++
		e.exhausted = e.exhausted || e.repeated >= maxRepeated
		return
	}
	e.seen[p] = true
	e.faults = append(e.faults, fault(p))
	if len(e.faults) >= maxFaults {
		e.exhausted = true
	}
}

// sortedFaults returns the faults in document order.
func (e *expansion) sortedFaults() []*document.Fault {
	slices.SortStableFunc(e.faults, func(a, b *document.Fault) int {
		if c := strings.Compare(a.File, b.File); c != 0 {
			return c
		}
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return e.faults
}

// reportError reports the error of an expression's evaluation.
func (e *expansion) reportError(at *document.Node, err error) {
	if errors.Is(err, expr.ErrReported) {
		return
	}
	if errors.Is(err, expr.ErrBudget) || e.ended() != nil {
		if e.exhausted {
			return
		}
		e.exhausted, e.muted = true, false
	}
	fault := &expr.Error{}
	if !errors.As(err, &fault) {
		e.fault(at, "%v", err)
		return
	}
	e.report(faultKey{at, max(fault.Offset, 0), strings.ReplaceAll(fault.Message, "\n", " ")},
		func(p faultKey) *document.Fault { return at.FaultAt(p.inside, Code, p.message) })
}

func (e *expansion) parse(text string) (expr.Node, error) {
	p, ok := e.parsed[text]
	if !ok {
		p.node, p.err = expr.Parse(text)
		e.parsed[text] = p
	}
	return p.node, p.err
}
