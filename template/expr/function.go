package expr

import "time"

// Param is an argument that a function takes.
type Param struct {
	Name  string // as the documentation names it
	Kinds Kind
	Walk  Walk
}

// Walk says how much of an argument a function walks through, which is charged before the call.
type Walk uint8

// Unless a row says otherwise, a function walks through all of its arguments.
const (
	WalksAll  Walk = iota
	WalksText      // of a text all; what the function takes of a container, it charges itself
	WalksNone      // what the function takes of the argument, it charges itself
)

// Function is a row of the library. The evaluation checks count and kinds of arguments
// before it calls; a null where Null is not among the kinds is a fault.
type Function struct {
	Name   string // as the documentation spells it; found without case
	Params []Param
	// Min is how many arguments there must be. Max is how many there may be; where it
	// exceeds the Params, the last Param stands for the rest. Max < 0 is any number.
	Min, Max int
	// Steps is what a call costs besides a step and the walk through its arguments.
	Steps int
	// Deploying functions need a provider's answer, so they stay expressions while
	// nothing is deployed.
	Deploying bool
	// DefaultsOnly functions stand in default values of parameters alone.
	DefaultsOnly bool
	// Carries says that the function passes its arguments, or what its lambdas return, on
	// into its result without looking into them, so that it can be worked out although a
	// part still needs an answer: createArray, createObject, map.
	Carries bool
	// Anchor, where it is set, adds to arguments what the function takes of the scope, for a
	// call that is finished where another scope may count.
	Anchor func(s Scope, args []Value) []Value
	// Lacks says why the object that the function returns has no more members; "": no more exist.
	Lacks string
	// Call works out the result. Its arguments are of the row's kinds, and one walk through
	// each is charged. For what else grows with them, steps or bytes, it charges before it
	// spends either.
	Call func(c *Call, args []Value) (Value, error)
}

// Param is what the argument at an index must be.
func (f *Function) Param(at int) Param { return f.Params[min(at, len(f.Params)-1)] }

// Scope is where a deployment stands. A deployment at a subscription has no Group.
type Scope struct {
	Tenant       string // a UUID
	Subscription string // a UUID
	Group        string
}

// ID is the scope's resource ID.
func (s Scope) ID() string {
	switch {
	case s.Subscription == "":
		return "/"
	case s.Group == "":
		return "/subscriptions/" + s.Subscription
	}
	return "/subscriptions/" + s.Subscription + "/resourceGroups/" + s.Group
}

// Call is what a function uses besides its arguments.
type Call struct {
	*Budget
	Name    string   // the function's name as the template spells it
	Path    []string // the names of the members that alone are taken of the result, each of the one before
	Scope   Scope
	Now     time.Time // when the deployment began
	NewGUID func() string
	run     *evaluation
	carries bool
	secret  bool // a lambda has returned one
}

// Invoke calls a lambda with one argument for each of its parameters, and charges a step.
func (c *Call) Invoke(lambda Value, args ...Value) (Value, error) {
	v, err := c.run.invoke(lambda.Closure(), args, c.carries)
	c.secret = c.secret || v.Secure()
	return v, err
}

// Closure is a lambda with the variables around it.
type Closure struct {
	Params []string
	body   Node
	outer  *bindings
}

// Nest charges a level of depth, for a function that evaluates expressions of its own.
// Unnest gives it back.
func (c *Call) Nest() error { return c.enter() }

// Unnest gives back what Nest charged.
func (c *Call) Unnest() { c.leave() }
