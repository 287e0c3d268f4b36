// Package template reads ARM's templates and works out what they ask for. It is pure: it
// reads no file, asks no service and knows no clock but the one it is given.
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

// MaxResources is how many resources one deployment has, its nested ones' among them.
const MaxResources = 800

// ARM's limits.
const (
	maxResources  = MaxResources
	maxParameters = 256
	maxVariables  = 256
	maxOutputs    = 64
	maxNesting    = 8 // of deployments
)

// What one template's expressions may spend.
const (
	maxSteps = 1_000_000
	maxSpent = 32 << 20
	maxDepth = 512
)

// maxFaults are reported; a template with more is given up.
const maxFaults = 50

// maxMessage is how long a fault's sentence may be: it may quote texts of the template.
const maxMessage = 4 << 10

// maxRepeated are how often faults are met again, in loops, before a template is given up.
const maxRepeated = 500

// Input is a template with what it stands in.
type Input struct {
	Template *document.Node
	// Arguments are values of parameters.
	Arguments []Argument
	// Name is the deployment's.
	Name  string
	Scope expr.Scope
	// Location is the deployment's, at a subscription; of a group the group's own.
	Location string
	// Mode is the deployment's: Complete, or else Incremental.
	Mode string
	// Group, Subscription, Deployer and Environment are the answers of resourceGroup() and so
	// on. Null of Group is made of Scope and Location, and a Group of which the caller may read no
	// more has an id, a name and a type alone; null of the others stands for a made-up
	// subscription or caller, or for the public cloud, as no service is asked.
	Group, Subscription, Deployer, Environment expr.Value
	Now                                        time.Time
	// NewGUID makes a random UUID. It is called in the same order for the same template, so
	// that one of a known seed has a template expanded to the same again.
	NewGUID func() string
	// Allowance is what this and all else that is worked out of the deployment may spend together.
	Allowance *Allowance
}

// Argument is a parameter's value.
type Argument struct {
	Name  string
	Value expr.Value
	At    *document.Node // for faults; nil of a value from elsewhere
}

// Expand works out what a template asks for. With faults, the plan has its Secrets alone: the
// faults may tell them. The error is that of a context that ends before.
func Expand(ctx context.Context, in Input) (*Plan, []*document.Fault, error) {
	if err := in.Allowance.begin(); err != nil {
		return &Plan{}, []*document.Fault{in.Template.Fault(Code, "%v", err)}, nil
	}
	e := &expansion{in: in, ended: ctx.Err, budget: expr.NewBudget(ctx, maxSteps, maxSpent, maxDepth), parsed: map[string]parsed{},
		constant: map[*document.Node]expr.Value{}, seen: map[place]bool{}, plan: &Plan{}}
	defer in.Allowance.end(e.budget)
	s := e.newScope(in.Template, in.Scope, in.Name, expr.StringOf(in.Location))
	s.read(in.Arguments)
	if s.declare(); !e.over {
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
		return &Plan{Secrets: e.plan.Secrets}, e.ordered(), nil
	}
	return e.plan, nil, nil
}

// expansion is what all templates of an Expand share.
type expansion struct {
	in       Input
	ended    func() error // the error of the context
	budget   *expr.Budget
	parsed   map[string]parsed
	constant map[*document.Node]expr.Value // values without expressions
	faults   []*document.Fault
	seen     map[place]bool
	plan     *Plan
	repeated int  // faults met again
	count    int  // resources declared
	quiet    bool // faults are not reported
	over     bool // too much: nothing further is worked out
}

type parsed struct {
	node expr.Node
	err  error
}

// noteSecret notes a value if it is a secret, or a part of it is.
func (e *expansion) noteSecret(v expr.Value) {
	if v.Secure() {
		e.plan.Secrets = append(e.plan.Secrets, v)
	}
}

// place is where a fault is, and which: a loop meets the same one each time.
type place struct {
	at      *document.Node
	inside  int
	message string
}

func (e *expansion) fault(at *document.Node, format string, args ...any) {
	e.report(place{at, 0, fmt.Sprintf(format, args...)}, func(p place) *document.Fault { return at.Fault(Code, "%s", p.message) })
}

// keyFault is a fault at the name of a member.
func (e *expansion) keyFault(of *document.Node, m document.Member, format string, args ...any) {
	e.report(place{m.Node, -1, fmt.Sprintf(format, args...)}, func(p place) *document.Fault { return of.Key(m, Code, "%s", p.message) })
}

func (e *expansion) report(p place, fault func(place) *document.Fault) {
	if e.quiet {
		return
	}
	p.message = expr.Shorten(p.message, maxMessage)
	if e.seen[p] {
		e.repeated++
		e.over = e.over || e.repeated >= maxRepeated
		return
	}
	e.seen[p] = true
	e.faults = append(e.faults, fault(p))
	if len(e.faults) >= maxFaults {
		e.over = true
	}
}

// ordered are the faults in the order in which they stand.
func (e *expansion) ordered() []*document.Fault {
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

// failed reports an error of an evaluation at an expression.
func (e *expansion) failed(at *document.Node, err error) {
	if errors.Is(err, expr.ErrReported) {
		return
	}
	if errors.Is(err, expr.ErrBudget) || e.ended() != nil {
		if e.over {
			return
		}
		e.over, e.quiet = true, false
	}
	fault := &expr.Error{}
	if !errors.As(err, &fault) {
		e.fault(at, "%v", err)
		return
	}
	e.report(place{at, max(fault.Offset, 0), strings.ReplaceAll(fault.Message, "\n", " ")},
		func(p place) *document.Fault { return at.FaultAt(p.inside, Code, p.message) })
}

func (e *expansion) parse(text string) (expr.Node, error) {
	p, ok := e.parsed[text]
	if !ok {
		p.node, p.err = expr.Parse(text)
		e.parsed[text] = p
	}
	return p.node, p.err
}
