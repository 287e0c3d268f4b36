package expr

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// Library finds functions.
type Library interface {
	// Find returns a function by its name in any case, or nil. namespace is empty except for
	// functions that the template defines.
	Find(namespace, name string) *Function
	// Names returns the names of a namespace's functions, for suggestions.
	Names(namespace string) []string
}

// Env is the environment of an evaluation.
type Env struct {
	Library  Library
	Budget   *Budget
	Scope    Scope
	Now      time.Time     // the start of the deployment
	NewGUID  func() string // returns a random UUID
	Defaults bool          // the expression is in a parameter's default value
}

// Evaluate evaluates an expression and leaves the parts that need a provider's answer as Pending
// values.
func Evaluate(n Node, env *Env) (Value, error) {
	return (&evaluation{env: env}).evaluate(n, nil)
}

// Finish evaluates the Pending parts of a value, with functions that return answers.
func Finish(v Value, env *Env) (Value, error) {
	return (&evaluation{env: env}).finish(v, nil)
}

type evaluation struct{ env *Env }

// bindings are the variables of the lambdas around an expression, innermost first.
type bindings struct {
	names  []string
	values []Value // nil until the lambda is called; then its variables stay Pending
	outer  *bindings
}

// ErrReported is returned by a Library's functions for a fault that has already been reported at
// its origin, such as a faulty variable.
var ErrReported = errors.New("reported already")

// errPending means that the caller of a lambda needs a result that is Pending.
var errPending = errors.New("a lambda's result needs an answer")

// maxValue is the maximum size of a value, which limits the time to walk through it.
const maxValue = 8 << 20

func (e *evaluation) evaluate(n Node, b *bindings) (Value, error) {
	v, err := e.evaluateSelected(n, b, nil)
	if err == nil {
		err = checkSize(v)
	}
	return v, err
}

// checkSize returns an error for a value that is too large or too deep to walk through.
func checkSize(v Value) error {
	if v.Size() > maxValue {
		return wrapf(ErrBudget, "a value of the template's expressions takes more than %d MiB", maxValue>>20)
	}
	return v.CheckDepth()
}

// evaluateSelected evaluates an expression if only a part of its value is used. The whole may exceed
// maxValue, as deployment() of a large template does. path names the members used, outermost first.
func (e *evaluation) evaluateSelected(n Node, b *bindings, path []string) (Value, error) {
	if l, ok := n.(*Literal); ok {
		return e.finish(l.Value, b)
	}
	if err := e.env.Budget.enter(); err != nil {
		return Value{}, err
	}
	defer e.env.Budget.leave()
	if err := e.env.Budget.Steps(1); err != nil {
		return Value{}, err
	}
	var v Value
	var err error
	var offset int
	switch n := n.(type) {
	case *Invocation:
		offset = n.offset
		if err = e.env.Budget.Text(len(n.Namespace) + len(n.Name)); err == nil {
			v, err = e.invocation(n, b, path)
		}
	case *Property:
		offset = n.offset
		if err = e.env.Budget.Text(len(n.Name)); err == nil {
			v, err = e.property(n, b, path)
		}
	case *Element:
		offset = n.offset
		v, err = e.element(n, b)
	}
	return v, withOffset(err, offset)
}

// withOffset sets an error's offset if it has none.
func withOffset(err error, offset int) error {
	if f, ok := err.(*Error); ok && f.Offset < 0 { //nolint:errorlint // errors are never wrapped here
		f = &Error{Message: f.Message, Offset: offset, cause: f.cause}
		return f
	}
	return err
}

// finish evaluates the Pending parts of a value.
func (e *evaluation) finish(v Value, b *bindings) (Value, error) {
	if v.Known() {
		return v, nil
	}
	done := v
	var err error
	switch v.Kind() {
	case Pending:
		done, err = e.evaluate(v.Expression(), b)
	case Array:
		if err := e.env.Budget.Elements(v.Len()); err != nil {
			return Value{}, err
		}
		parts := make([]Value, v.Len())
		for i, part := range v.Elements() {
			if parts[i], err = e.finish(part, b); err != nil {
				return Value{}, err
			}
		}
		done = ArrayOf(parts...)
		err = done.CheckDepth()
	case Object:
		if err := e.env.Budget.Object(v.Members()); err != nil {
			return Value{}, err
		}
		parts := make([]Member, v.Len())
		for i, m := range v.Members() {
			if m.Value, err = e.finish(m.Value, b); err != nil {
				return Value{}, err
			}
			parts[i] = m
		}
		done = ObjectOf(parts...)
		err = done.CheckDepth()
	}
	return done.inherit(v), err
}

func (e *evaluation) pending(n Node, of ...Value) (Value, error) {
	if err := e.env.Budget.Bytes(nodeSize); err != nil {
		return Value{}, err
	}
	v := PendingOf(n)
	if anySecure(of) {
		v = v.AsSecure()
	}
	return v, nil
}

func anySecure(values []Value) bool {
	for i := range values {
		if values[i].Secure() {
			return true
		}
	}
	return false
}

func (e *evaluation) invocation(n *Invocation, b *bindings, path []string) (Value, error) {
	if n.Namespace == "" {
		if own := e.findOwn(n.Name); own != nil {
			return own(e, n, b)
		}
	}
	f := e.env.Library.Find(n.Namespace, n.Name)
	if f == nil {
		return Value{}, e.unknownFunction(n)
	}
	args := make([]Value, len(n.Args))
	for i, arg := range n.Args {
		var err error
		if args[i], err = e.evaluate(arg, b); err != nil {
			return Value{}, err
		}
	}
	return e.call(f, n, args, path)
}

// stepsOfGuess is the cost of comparing a name with the names of all functions.
const stepsOfGuess = 2000

// unknownFunction returns the error for a call of a function that does not exist.
func (e *evaluation) unknownFunction(n *Invocation) error {
	name := n.Name
	if n.Namespace != "" {
		name = n.Namespace + "." + n.Name
	}
	if err := e.env.Budget.Steps(stepsOfGuess); err != nil {
		return err
	}
	names := e.env.Library.Names(n.Namespace)
	if n.Namespace == "" {
		names = append(names, ownNames...)
	}
	if near := Nearest(n.Name, names); near != "" {
		return errorAt(n.offset, "the template function '%s' is not known; did you mean '%s'?", name, near)
	}
	return errorAt(n.offset, "the template function '%s' is not known", name)
}

func (e *evaluation) call(f *Function, n *Invocation, args []Value, path []string) (Value, error) {
	if strings.HasSuffix(f.Name, "*") { // one row for all names with this prefix
		named := *f
		named.Name, f = n.Name, &named
	}
	if err := e.checkArguments(f, n, args); err != nil {
		return Value{}, err
	}
	if err := e.env.Budget.call(f, args); err != nil {
		return Value{}, err
	}
	if !computable(f, args) {
		if f.Anchor != nil {
			args = f.Anchor(e.env.Scope, args)
		}
		return e.pendingCall(n, args)
	}
	env := e.env
	c := &Call{Budget: env.Budget, Name: n.Name, Path: path, Scope: env.Scope, Now: env.Now, NewGUID: env.NewGUID, run: e, passesThrough: f.PassesThrough}
	v, err := f.Call(c, args)
	secret := c.secret || anySecure(args)
	switch fault := (*Error)(nil); {
	case e.env.Budget.exhausted != nil:
		return Value{}, e.env.Budget.exhausted
	case errors.Is(err, errPending):
		return e.pendingCall(n, args)
	case errors.Is(err, ErrReported):
		return Value{}, err
	case errors.As(err, &fault):
		if secret && fault.cause == nil {
			return Value{}, secretRefused(n, f.Name, nil)
		}
		if fault.Offset < 0 && fault.cause == nil && f.Name != "fail" { // the message of fail is the template's own
			fault = &Error{Message: "the template function '" + f.Name + "': " + fault.Message, Offset: n.offset}
		}
		return Value{}, fault
	case err != nil && secret:
		return Value{}, secretRefused(n, f.Name, err)
	case err != nil:
		return Value{}, &Error{Message: "the template function '" + f.Name + "': " + err.Error(), Offset: n.offset, cause: err}
	case !f.PassesThrough && secret:
		v = v.AsSecure()
	}
	return v, nil
}

// secretRefused replaces an error of a function that may quote its secret argument.
func secretRefused(n *Invocation, name string, cause error) error {
	return &Error{Message: "the template function '" + name + "' refuses an argument that is made of a secret", Offset: n.offset, cause: cause}
}

// checkArguments checks the arguments against the function's declaration.
func (e *evaluation) checkArguments(f *Function, n *Invocation, args []Value) error {
	if len(args) < f.Min || f.Max >= 0 && len(args) > f.Max {
		return errorAt(n.offset, "the template function '%s' takes %s, and %d are given", f.Name, f.countText(), len(args))
	}
	if f.DefaultsOnly && !e.env.Defaults {
		return errorAt(n.offset, "the template function '%s' is allowed in default values of parameters alone", f.Name)
	}
	for i, arg := range args {
		if wanted := f.Param(i); !arg.Is(wanted.Kinds | Pending) {
			return errorAt(n.offset, "the template function '%s' wants its argument %d, %s, as %s, and is given %s",
				f.Name, i+1, wanted.Name, wanted.Kinds&^Pending, arg.Kind())
		}
	}
	return nil
}

func (f *Function) countText() string {
	switch {
	case f.Max < 0:
		return "at least " + argumentCount(f.Min)
	case f.Min == f.Max:
		return argumentCount(f.Min)
	}
	return strconv.Itoa(f.Min) + " to " + argumentCount(f.Max)
}

func argumentCount(n int) string {
	if n == 1 {
		return "1 argument"
	}
	return strconv.Itoa(n) + " arguments"
}

// computable reports whether all arguments that the function looks at are known.
func computable(f *Function, args []Value) bool {
	for i, arg := range args {
		switch {
		case arg.Known():
		case !f.PassesThrough:
			return false
		case !arg.Is(f.Param(i).Kinds): // Pending, but the function needs to know its kind
			return false
		}
	}
	return true
}

// pendingCall returns a Pending call with evaluated arguments.
func (e *evaluation) pendingCall(n *Invocation, args []Value) (Value, error) {
	nodes := make([]Node, len(args))
	for i, arg := range args {
		var err error
		if nodes[i], err = e.remainingNode(arg); err != nil {
			return Value{}, err
		}
	}
	return e.pending(newInvocation(n.offset, n.Namespace, n.Name, nodes), args...)
}

func (e *evaluation) remainingNode(v Value) (Node, error) {
	c := v.Closure()
	if c == nil {
		return nodeOf(v), nil
	}
	body, err := e.evaluate(c.body, &bindings{names: c.Params, outer: c.outer})
	if err != nil {
		return nil, err
	}
	args := make([]Node, 0, len(c.Params)+1)
	for _, name := range c.Params {
		args = append(args, &Literal{StringOf(name)})
	}
	return newInvocation(0, "", "lambda", append(args, nodeOf(body))), nil
}

func (e *evaluation) invoke(c *Closure, args []Value, carries bool) (Value, error) {
	if err := e.env.Budget.Steps(1); err != nil {
		return Value{}, err
	}
	if len(args) != len(c.Params) {
		return Value{}, Errorf("the lambda takes %s, and %d are given", argumentCount(len(c.Params)), len(args))
	}
	v, err := e.evaluate(c.body, &bindings{names: c.Params, values: args, outer: c.outer})
	if err == nil && !carries && !v.Known() {
		err = errPending
	}
	return v, err
}

func (e *evaluation) property(n *Property, b *bindings, path []string) (Value, error) {
	of, err := e.evaluateSelected(n.Of, b, append([]string{n.Name}, path...))
	if err != nil {
		return Value{}, err
	}
	if of.Is(Pending) {
		return e.pending(newProperty(n.offset, nodeOf(of), n.Name), of)
	}
	v, err := member(of, n.Name, n.Of)
	return v, e.explainMissing(n.Of, err)
}

// explainMissing adds to err the reason why the function's result lacks some members, if it has
// one.
func (e *evaluation) explainMissing(of Node, err error) error {
	if call, is := of.(*Invocation); is && err != nil {
		if f := e.env.Library.Find(call.Namespace, call.Name); f != nil && f.MissingReason != "" {
			return Errorf("%v: %s", err, f.MissingReason)
		}
	}
	return err
}

// member returns a member of the value of n.
func member(of Value, name string, n Node) (Value, error) {
	if !of.Is(Object) {
		return Value{}, Errorf("the property '%s' cannot be taken of a value of kind %s", name, of.Kind())
	}
	if v, ok := of.Member(name); ok {
		return v, nil
	}
	if of.Secure() {
		return Value{}, Errorf("the object, which is a secret, has no property '%s'", name)
	}
	names := make([]string, 0, quotedNames+1)
	for _, m := range of.Members()[:min(of.Len(), quotedNames+1)] {
		names = append(names, m.Name)
	}
	return Value{}, Errorf("%s has no property '%s'; its properties are %s", describe(n), name, quoteSome(names))
}

// describe names an object in errors: as its expression, if that starts with a function without
// arguments, such as environment().
func describe(n Node) string {
	for at := n; ; {
		switch of := at.(type) {
		case *Property:
			at = of.Of
			continue
		case *Invocation:
			if len(of.Args) == 0 {
				return Print(n)
			}
		}
		return "the object"
	}
}

// Limits for quoting names in errors: their number, and the bytes of each.
const quotedNames, quotedBytes = 10, 100

func quoteSome(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	rest := ""
	if len(names) > quotedNames {
		names, rest = names[:quotedNames], ", …"
	}
	for i, name := range names {
		names[i] = Shorten(name, quotedBytes)
	}
	return "'" + strings.Join(names, "', '") + "'" + rest
}

func (e *evaluation) element(n *Element, b *bindings) (Value, error) {
	of, err := e.evaluateSelected(n.Of, b, nil)
	if err != nil {
		return Value{}, err
	}
	key, err := e.evaluate(n.Key, b)
	switch {
	case err != nil:
		return Value{}, err
	case of.Is(Pending) || !key.Known():
		return e.pending(newElement(n.offset, nodeOf(of), nodeOf(key)), of, key)
	}
	if err := e.env.Budget.Walk(key); err != nil {
		return Value{}, err
	}
	v, err := selectElement(of, key, n.Of)
	if !key.Secure() {
		return v, e.explainMissing(n.Of, err)
	}
	if err != nil {
		err = Errorf("a value of kind %s has no element that the index, which is made of a secret, selects", of.Kind())
	}
	return v.AsSecure(), err
}

// selectElement returns of[key]: an array's element or an object's member.
func selectElement(of, key Value, n Node) (Value, error) {
	switch {
	case of.Is(Object) && key.Is(String):
		return member(of, key.Text(), n)
	case of.Is(Array) && key.Is(Int):
		if at := key.Int(); at >= 0 && at < int64(of.Len()) {
			return of.Element(int(at)), nil
		}
		return Value{}, Errorf("the index %d is out of bounds: the array has %d elements", key.Int(), of.Len())
	}
	return Value{}, Errorf("a value of kind %s has no elements that an index of kind %s selects", of.Kind(), key.Kind())
}
