package expr

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// Library finds functions.
type Library interface {
	// Find is a function by its name without case, nil where there is none. The
	// namespace is that of a function that the template defines, else empty.
	Find(namespace, name string) *Function
	// Names are those of all functions of a namespace, to guess what was meant.
	Names(namespace string) []string
}

// Env is what an evaluation stands in.
type Env struct {
	Library  Library
	Budget   *Budget
	Scope    Scope
	Now      time.Time     // when the deployment began
	NewGUID  func() string // a random UUID
	Defaults bool          // the expression is a parameter's default value
}

// Evaluate works an expression out as far as it goes: what needs a provider's answer
// stays as Pending values.
func Evaluate(n Node, env *Env) (Value, error) {
	return (&evaluation{env: env}).node(n, nil)
}

// Finish works out what is Pending in a value, with functions that answer.
func Finish(v Value, env *Env) (Value, error) {
	return (&evaluation{env: env}).finish(v, nil)
}

type evaluation struct{ env *Env }

// bindings are the variables of the lambdas around an expression, the innermost first.
type bindings struct {
	names  []string
	values []Value // nil while the lambda is not called: then they stay expressions
	outer  *bindings
}

// ErrReported is what a Library's functions return for a fault that was reported already,
// where it stands: a variable that is used is faulty.
var ErrReported = errors.New("reported already")

// errPending says that a lambda's result needs an answer that its caller must know.
var errPending = errors.New("a lambda's result needs an answer")

// maxValue bounds one value's size, so that each can be walked through.
const maxValue = 8 << 20

func (e *evaluation) node(n Node, b *bindings) (Value, error) {
	v, err := e.selectable(n, b, nil)
	if err == nil {
		err = bounded(v)
	}
	return v, err
}

// bounded refuses a value that is too large, or nests too deep, to be walked through.
func bounded(v Value) error {
	if v.Size() > maxValue {
		return wrapf(ErrBudget, "a value of the template's expressions takes more than %d MiB", maxValue>>20)
	}
	return v.CheckDepth()
}

// selectable evaluates an expression of whose value a part is selected at once: the value may
// exceed the bound, as deployment() of a large template does. The path has the names of the
// members that are, the outermost first.
func (e *evaluation) selectable(n Node, b *bindings, path []string) (Value, error) {
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
	return v, placed(err, offset)
}

// placed gives a fault its place where it has none yet.
func placed(err error, offset int) error {
	if f, ok := err.(*Error); ok && f.Offset < 0 { //nolint:errorlint // a fault is never wrapped
		f = &Error{Message: f.Message, Offset: offset, cause: f.cause}
		return f
	}
	return err
}

// finish works out what a value that stands in an expression still needs.
func (e *evaluation) finish(v Value, b *bindings) (Value, error) {
	if v.Known() {
		return v, nil
	}
	done := v
	var err error
	switch v.Kind() {
	case Pending:
		done, err = e.node(v.Expression(), b)
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
		if own := e.own(n.Name); own != nil {
			return own(e, n, b)
		}
	}
	f := e.env.Library.Find(n.Namespace, n.Name)
	if f == nil {
		return Value{}, e.unknown(n)
	}
	args := make([]Value, len(n.Args))
	for i, arg := range n.Args {
		var err error
		if args[i], err = e.node(arg, b); err != nil {
			return Value{}, err
		}
	}
	return e.call(f, n, args, path)
}

// stepsOfGuess is what it costs to compare a name with all that there are.
const stepsOfGuess = 2000

// unknown is the fault of a call whose function does not exist.
func (e *evaluation) unknown(n *Invocation) error {
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
	if strings.HasSuffix(f.Name, "*") { // a row for all names that begin so
		named := *f
		named.Name, f = n.Name, &named
	}
	if err := e.check(f, n, args); err != nil {
		return Value{}, err
	}
	if err := e.env.Budget.call(f, args); err != nil {
		return Value{}, err
	}
	if !computable(f, args) {
		if f.Anchor != nil {
			args = f.Anchor(e.env.Scope, args)
		}
		return e.remains(n, args)
	}
	env := e.env
	c := &Call{Budget: env.Budget, Name: n.Name, Path: path, Scope: env.Scope, Now: env.Now, NewGUID: env.NewGUID, run: e, carries: f.Carries}
	v, err := f.Call(c, args)
	secret := c.secret || anySecure(args)
	switch fault := (*Error)(nil); {
	case e.env.Budget.spent != nil:
		return Value{}, e.env.Budget.spent
	case errors.Is(err, errPending):
		return e.remains(n, args)
	case errors.Is(err, ErrReported):
		return Value{}, err
	case errors.As(err, &fault):
		if secret && fault.cause == nil {
			return Value{}, refusesSecret(n, f.Name, nil)
		}
		if fault.Offset < 0 && fault.cause == nil && f.Name != "fail" { // whose message is the template's own
			fault = &Error{Message: "the template function '" + f.Name + "': " + fault.Message, Offset: n.offset}
		}
		return Value{}, fault
	case err != nil && secret:
		return Value{}, refusesSecret(n, f.Name, err)
	case err != nil:
		return Value{}, &Error{Message: "the template function '" + f.Name + "': " + err.Error(), Offset: n.offset, cause: err}
	case !f.Carries && secret:
		v = v.AsSecure()
	}
	return v, nil
}

// refusesSecret is the error of a function in place of one that may quote its argument.
func refusesSecret(n *Invocation, name string, cause error) error {
	return &Error{Message: "the template function '" + name + "' refuses an argument that is made of a secret", Offset: n.offset, cause: cause}
}

// check compares the arguments with the function's row.
func (e *evaluation) check(f *Function, n *Invocation, args []Value) error {
	if len(args) < f.Min || f.Max >= 0 && len(args) > f.Max {
		return errorAt(n.offset, "the template function '%s' takes %s, and %d are given", f.Name, f.counts(), len(args))
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

func (f *Function) counts() string {
	switch {
	case f.Max < 0:
		return "at least " + arguments(f.Min)
	case f.Min == f.Max:
		return arguments(f.Min)
	}
	return strconv.Itoa(f.Min) + " to " + arguments(f.Max)
}

func arguments(n int) string {
	if n == 1 {
		return "1 argument"
	}
	return strconv.Itoa(n) + " arguments"
}

// computable reports whether the arguments that a function needs are known.
func computable(f *Function, args []Value) bool {
	for i, arg := range args {
		switch {
		case arg.Known():
		case !f.Carries:
			return false
		case !arg.Is(f.Param(i).Kinds): // Pending, and the function must see its kind
			return false
		}
	}
	return true
}

// remains is a call that waits for an answer, with its arguments worked out.
func (e *evaluation) remains(n *Invocation, args []Value) (Value, error) {
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
	body, err := e.node(c.body, &bindings{names: c.Params, outer: c.outer})
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
		return Value{}, Errorf("the lambda takes %s, and %d are given", arguments(len(c.Params)), len(args))
	}
	v, err := e.node(c.body, &bindings{names: c.Params, values: args, outer: c.outer})
	if err == nil && !carries && !v.Known() {
		err = errPending
	}
	return v, err
}

func (e *evaluation) property(n *Property, b *bindings, path []string) (Value, error) {
	of, err := e.selectable(n.Of, b, append([]string{n.Name}, path...))
	if err != nil {
		return Value{}, err
	}
	if of.Is(Pending) {
		return e.pending(newProperty(n.offset, nodeOf(of), n.Name), of)
	}
	v, err := member(of, n.Name, n.Of)
	return v, e.lacking(n.Of, err)
}

// lacking adds to a fault why the function that returned the object has not all of its members.
func (e *evaluation) lacking(of Node, err error) error {
	if call, is := of.(*Invocation); is && err != nil {
		if f := e.env.Library.Find(call.Namespace, call.Name); f != nil && f.Lacks != "" {
			return Errorf("%v: %s", err, f.Lacks)
		}
	}
	return err
}

// member returns a member of the object that a node was evaluated to.
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

// describe names an object in errors: by its expression, if that begins with a function
// without arguments, such as environment().
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

// So many names are quoted at most, and so many bytes of each.
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
	of, err := e.selectable(n.Of, b, nil)
	if err != nil {
		return Value{}, err
	}
	key, err := e.node(n.Key, b)
	switch {
	case err != nil:
		return Value{}, err
	case of.Is(Pending) || !key.Known():
		return e.pending(newElement(n.offset, nodeOf(of), nodeOf(key)), of, key)
	}
	if err := e.env.Budget.Walk(key); err != nil {
		return Value{}, err
	}
	v, err := selected(of, key, n.Of)
	if !key.Secure() {
		return v, e.lacking(n.Of, err)
	}
	if err != nil {
		err = Errorf("a value of kind %s has no element that the index, which is made of a secret, selects", of.Kind())
	}
	return v.AsSecure(), err
}

// selected is OF[KEY]: an element by its index, or a member by its name.
func selected(of, key Value, n Node) (Value, error) {
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
