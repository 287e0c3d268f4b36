package expr

import "time"

// Param is an argument that a function takes.
type Param struct {
	Name  string // as in the documentation
	Kinds Kind
	Walk  Walk
}

// Walk is how much of an argument a function walks through. The evaluation charges for it before
// the call.
type Walk uint8

// The default is WalksAll.
const (
	WalksAll  Walk = iota
	WalksText      // strings entirely; for containers, the function charges itself
	WalksNone      // the function charges itself
)

// Function describes a template function. The evaluation checks number and kinds of arguments
// before the call; null is rejected unless Kinds includes Null.
type Function struct {
	Name   string // as in the documentation; case does not matter
	Params []Param
	// Min and Max limit the number of arguments. If Max exceeds len(Params), the last Param applies
	// to the rest. Max < 0 means no limit.
	Min, Max int
	// Steps is the cost of a call, in addition to one step and walking through the arguments.
	Steps int
	// Deploying functions need a provider's answer, so they stay Pending before a deployment.
	Deploying bool
	// DefaultsOnly functions are allowed only in parameters' default values.
	DefaultsOnly bool
	// PassesThrough means that the function does not look into its arguments, or its lambda's
	// results, but only passes them on. It can therefore be called with Pending parts: createArray,
	// createObject, map.
	PassesThrough bool
	// Anchor, if set, adds to the arguments the parts of the scope that the function uses. It is
	// applied to calls that may be finished in another scope.
	Anchor func(s Scope, args []Value) []Value
	// MissingReason explains why the returned object lacks members; empty if it has all of them.
	MissingReason string
	// Call computes the result. The arguments have the declared kinds, and walking through each
	// once has been charged. Call charges all further steps and bytes before it spends them.
	Call func(c *Call, args []Value) (Value, error)
}

// Param returns the declaration of the argument at an index.
func (f *Function) Param(at int) Param { return f.Params[min(at, len(f.Params)-1)] }

// Scope is the scope of a deployment. For a subscription, Group is empty.
type Scope struct {
	Tenant       string // a UUID
	Subscription string // a UUID
	Group        string
}

// ID returns the scope's resource ID.
func (s Scope) ID() string {
	switch {
	case s.Subscription == "":
		return "/"
	case s.Group == "":
		return "/subscriptions/" + s.Subscription
	}
	return "/subscriptions/" + s.Subscription + "/resourceGroups/" + s.Group
}

// Call is the context of a function call.
type Call struct {
	*Budget
	Name          string   // the function's name as the template writes it
	Path          []string // names of the members used of the result, outermost first
	Scope         Scope
	Now           time.Time // the start of the deployment
	NewGUID       func() string
	run           *evaluation
	passesThrough bool
	secret        bool // a lambda has returned a secret
}

// Invoke calls a lambda with one argument for each of its parameters, and charges a step.
func (c *Call) Invoke(lambda Value, args ...Value) (Value, error) {
	v, err := c.run.invoke(lambda.Closure(), args, c.passesThrough)
	c.secret = c.secret || v.Secure()
	return v, err
}

// Closure is a lambda with its enclosing variables.
type Closure struct {
	Params []string
	body   Node
	outer  *bindings
}

// Nest charges one level of depth, until Unnest, for a function that evaluates expressions.
func (c *Call) Nest() error { return c.enter() }

// Unnest releases the level that Nest charged.
func (c *Call) Unnest() { c.leave() }
