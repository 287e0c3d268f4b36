package expr

import (
	"errors"
	"strings"
)

// ownFunction is a function that does not evaluate all its arguments.
type ownFunction func(*evaluation, *Invocation, *bindings) (Value, error)

var ownNames = []string{"if", "and", "or", "coalesce", "lambda", "lambdaVariables"}

func (e *evaluation) findOwn(name string) ownFunction {
	switch strings.ToLower(name) {
	case "if":
		return (*evaluation).evaluateIf
	case "and", "or":
		return (*evaluation).evaluateAndOr
	case "coalesce":
		return (*evaluation).evaluateCoalesce
	case "lambda":
		return (*evaluation).lambda
	case "lambdavariables":
		return (*evaluation).lambdaVariable
	}
	return nil
}

func wrongCount(n *Invocation, wanted string) error {
	return errorAt(n.offset, "the template function '%s' takes %s, and %d are given", n.Name, wanted, len(n.Args))
}

func wrongKind(n *Invocation, at int, wanted Kind, v Value) error {
	return errorAt(n.offset, "the template function '%s' wants its argument %d as %s, and is given %s", n.Name, at+1, wanted, v.Kind())
}

// evaluateIf evaluates the condition and the argument it selects; both, if the condition is
// Pending.
func (e *evaluation) evaluateIf(n *Invocation, b *bindings) (Value, error) {
	if len(n.Args) != 3 {
		return Value{}, wrongCount(n, "3 arguments")
	}
	condition, err := e.evaluate(n.Args[0], b)
	switch {
	case err != nil:
		return Value{}, err
	case condition.Is(Pending):
		return e.pendingFrom(n, 0, condition, b)
	case !condition.Is(Bool):
		return Value{}, wrongKind(n, 0, Bool, condition)
	}
	chosen := n.Args[2]
	if condition.Bool() {
		chosen = n.Args[1]
	}
	v, err := e.evaluate(chosen, b)
	return v.inherit(condition), err
}

// evaluateAndOr evaluates and, or: it stops at the first argument that decides the result.
func (e *evaluation) evaluateAndOr(n *Invocation, b *bindings) (Value, error) {
	if len(n.Args) == 0 {
		return Value{}, wrongCount(n, "at least 1 argument")
	}
	decisive := strings.EqualFold(n.Name, "or")
	var seen []Value
	for i, arg := range n.Args {
		v, err := e.evaluate(arg, b)
		switch {
		case err != nil:
			return Value{}, err
		case v.Is(Pending):
			return e.pendingFrom(n, i, v, b)
		case !v.Is(Bool):
			return Value{}, wrongKind(n, i, Bool, v)
		}
		if seen = append(seen, v); v.Bool() == decisive {
			break
		}
	}
	v := BoolOf(seen[len(seen)-1].Bool())
	if anySecure(seen) {
		v = v.AsSecure()
	}
	return v, nil
}

func (e *evaluation) evaluateCoalesce(n *Invocation, b *bindings) (Value, error) {
	if len(n.Args) == 0 {
		return Value{}, wrongCount(n, "at least 1 argument")
	}
	for i, arg := range n.Args {
		v, err := e.evaluate(arg, b)
		switch {
		case err != nil:
			return Value{}, err
		case v.Is(Pending):
			return e.pendingFrom(n, i, v, b)
		case !v.Is(Null):
			return v, nil
		}
	}
	return Value{}, nil
}

// pendingFrom returns the Pending rest of a call, whose argument at an index is the Pending value
// v. An error in a later argument becomes a call of fail, because that argument may turn out not to
// be used.
func (e *evaluation) pendingFrom(n *Invocation, at int, v Value, b *bindings) (Value, error) {
	args := []Node{nodeOf(v)}
	for _, arg := range n.Args[at+1:] {
		next, err := e.evaluate(arg, b)
		if errors.Is(err, ErrBudget) || e.env.Budget.exhausted != nil {
			return Value{}, err
		}
		if err != nil {
			next = PendingOf(Invoke("fail", StringOf(err.Error())))
		}
		args = append(args, nodeOf(next))
		if next.Secure() {
			v = v.AsSecure()
		}
	}
	return e.pending(newInvocation(n.offset, "", n.Name, args), v)
}

func (e *evaluation) lambda(n *Invocation, b *bindings) (Value, error) {
	if len(n.Args) == 0 {
		return Value{}, wrongCount(n, "at least 1 argument")
	}
	if err := e.env.Budget.Steps(len(n.Args) / 8); err != nil {
		return Value{}, err
	}
	last := len(n.Args) - 1
	c := &Closure{body: n.Args[last], outer: b}
	for _, arg := range n.Args[:last] {
		name, ok := arg.(*Literal)
		if !ok || !name.Value.Is(String) {
			return Value{}, errorAt(n.offset, "the template function 'lambda' wants the names of its variables as strings")
		}
		c.Params = append(c.Params, name.Value.Text())
	}
	return Value{kind: Lambda, ref: c}, nil
}

func (e *evaluation) lambdaVariable(n *Invocation, b *bindings) (Value, error) {
	if len(n.Args) != 1 {
		return Value{}, wrongCount(n, "1 argument")
	}
	name, err := e.evaluate(n.Args[0], b)
	if err != nil {
		return Value{}, err
	}
	if !name.Is(String) {
		return Value{}, wrongKind(n, 0, String, name)
	}
	if err := e.env.Budget.Walk(name); err != nil {
		return Value{}, err
	}
	for ; b != nil; b = b.outer {
		for i := range b.names {
			if !strings.EqualFold(b.names[i], name.Text()) {
				continue
			}
			if b.values == nil {
				return PendingOf(Invoke(n.Name, name)), nil
			}
			return b.values[i], nil
		}
	}
	if name.Secure() {
		return Value{}, secretRefused(n, "lambdaVariables", nil)
	}
	return Value{}, errorAt(n.offset, "no lambda around the expression has the variable '%s'", name.Text())
}
