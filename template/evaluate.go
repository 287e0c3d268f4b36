package template

import (
	"strings"

	"portico/template/document"
	"portico/template/expr"
)

// evaluate evaluates a node of the template, whose strings may be expressions. It reports faults,
// and returns false if there are any.
func (s *scope) evaluate(n *document.Node, f *frame) (v expr.Value, ok bool) {
	s = s.values
	outer := s.frame
	s.frame = f
	defer func() { s.frame = outer }()
	w := walker{s, s.env(s, f), f}
	v, ok, _ = w.value(n)
	return v, ok
}

func (s *scope) env(library expr.Library, f *frame) *expr.Env {
	return &expr.Env{Library: library, Budget: s.budget, Scope: s.at, Now: s.in.Now, NewGUID: s.in.NewGUID, Defaults: f.defaults}
}

// walker turns nodes into values.
type walker struct {
	*scope
	env    *expr.Env
	inside *frame
}

// value evaluates a node. The value of a node without expressions is cached.
func (w walker) value(n *document.Node) (v expr.Value, ok, constant bool) {
	if w.exhausted {
		return expr.Value{}, false, false
	}
	if err := w.budget.Steps(1); err != nil {
		w.reportError(n, err)
		return expr.Value{}, false, false
	}
	if n.Is(expr.Array | expr.Object | expr.String) {
		if v, known := w.constant[n]; known {
			return v, w.charge(n, v), true
		}
	}
	switch {
	case n.Is(expr.String):
		v, ok, constant = w.text(n)
	case n.Is(expr.Array):
		v, ok, constant = w.array(n)
	case n.Is(expr.Object):
		v, ok, constant = w.object(n)
	default:
		return n.Value, true, true
	}
	if !w.fits(n, v) {
		return v, false, false
	}
	if ok && constant {
		w.constant[n] = v
	}
	return v, ok, constant
}

// fits reports whether a value nests no deeper than values may.
func (s *scope) fits(n *document.Node, v expr.Value) bool {
	err := v.CheckDepth()
	if err != nil {
		s.reportError(n, err)
	}
	return err == nil
}

func (w walker) charge(n *document.Node, v expr.Value) bool {
	if err := w.budget.Bytes(v.Size()); err != nil {
		w.reportError(n, err)
		return false
	}
	return true
}

func (w walker) text(n *document.Node) (v expr.Value, ok, constant bool) {
	text, isExpression := expr.Text(n.Text())
	if !isExpression {
		v = expr.StringOf(text)
		return v, w.charge(n, v), true
	}
	v, err := w.expression(n.Text())
	if v.Is(expr.Lambda) {
		err = expr.Errorf("a lambda is no value: it stands as an argument alone")
	}
	if err != nil {
		w.reportError(n, err)
		return expr.Value{}, false, false
	}
	return v, w.charge(n, v), false
}

func (w walker) expression(text string) (expr.Value, error) {
	if err := w.budget.Text(len(text)); err != nil {
		return expr.Value{}, err
	}
	node, err := w.parse(text)
	if err != nil {
		return expr.Value{}, err
	}
	v, err := expr.Evaluate(node, w.env)
	w.recordSecret(v)
	return v, err
}

func (w walker) array(n *document.Node) (v expr.Value, ok, constant bool) {
	elements := make([]expr.Value, len(n.Elements))
	ok, constant = true, true
	for i, e := range n.Elements {
		v, fine, same := w.value(e)
		elements[i] = v
		ok, constant = ok && fine, constant && same
	}
	return expr.ArrayOf(elements...), ok, constant
}

func (w walker) object(n *document.Node) (v expr.Value, ok, constant bool) {
	members := make([]expr.Member, 0, len(n.Members))
	ok, constant = true, true
	secret := false
	for _, m := range n.Members {
		if strings.EqualFold(m.Name, "copy") && isLoops(m.Node) {
			more, fine := w.loops(m.Node)
			members = append(members, more...)
			ok, constant = ok && fine, false
			continue
		}
		name, fine, same := w.name(n, m)
		if err := w.budget.Text(len(name.Text())); err != nil {
			w.reportError(m.Node, err)
			return v, false, false
		}
		v, valued, still := w.value(m.Node)
		members = append(members, expr.Member{Name: name.Text(), Value: v})
		ok, constant, secret = ok && fine && valued, constant && same && still, secret || name.Secure()
	}
	v = expr.ObjectOf(members...)
	if secret { // a member's name cannot be marked by itself, so the whole object is
		v = v.AsSecure()
	}
	return v, ok, constant
}

// name evaluates a member's name.
func (w walker) name(n *document.Node, m document.Member) (name expr.Value, ok, constant bool) {
	text, isExpression := expr.Text(m.Name)
	if !isExpression {
		return expr.StringOf(text), true, true
	}
	v, err := w.expression(m.Name)
	switch {
	case err != nil:
		w.reportError(m.Node, err)
	case !v.Known():
		w.reportUnknown(m.Node, v, "a member's name")
	case !v.Is(expr.String):
		w.keyFault(n, m, "a member's name must be a string, and this expression is of kind %s", v.Kind())
	default:
		return v, true, false
	}
	return expr.Value{}, false, false
}

// isLoops reports whether a member named copy holds property loops, rather than being a property of
// that name.
func isLoops(n *document.Node) bool {
	if !n.Is(expr.Array) {
		return false
	}
	for _, e := range n.Elements {
		if e.Member("name") == nil || e.Member("count") == nil || e.MemberOrNull("input") == nil {
			return false
		}
	}
	return len(n.Elements) > 0
}

// loops evaluates property loops. Each becomes a member that is an array with one element per
// index.
func (w walker) loops(n *document.Node) (members []expr.Member, ok bool) {
	ok = true
	for _, loop := range n.Elements {
		name := loop.Member("name")
		array, fine := w.loop(name.Text(), loop.Member("count"), loop.MemberOrNull("input"))
		members = append(members, expr.Member{Name: name.Text(), Value: array})
		if !name.Is(expr.String) || name.Text() == "" {
			w.fault(name, "a loop's name is a string")
			fine = false
		}
		ok = ok && fine
	}
	return members, ok
}

// loop evaluates input once per index and returns the array of the results.
func (w walker) loop(name string, count, input *document.Node) (array expr.Value, ok bool) {
	n, ok := w.count(count)
	if !ok {
		return array, false
	}
	outer := *w.inside
	defer func() { *w.inside = outer }()
	elements := make([]expr.Value, 0, n)
	for i := range n {
		*w.inside = *outer.with(iteration{name: name, index: i})
		v, fine, _ := w.value(input)
		if !fine {
			return array, false // the other indexes would fail as well
		}
		elements = append(elements, v)
	}
	array = expr.ArrayOf(elements...)
	return array, w.fits(input, array)
}

// count evaluates the number of a loop's iterations.
func (w walker) count(n *document.Node) (int, bool) {
	v, ok, _ := w.value(n)
	if !ok {
		return 0, false
	}
	return w.checkedCount(n, v)
}

func (s *scope) checkedCount(n *document.Node, v expr.Value) (int, bool) {
	switch {
	case !v.Known():
		s.reportUnknown(n, v, "a loop's count")
	case !v.Is(expr.Int):
		s.fault(n, "a loop's count is an integer, and this is %s", v.Kind())
	case v.Int() < 0 || v.Int() > maxResources:
		s.fault(n, "a loop's count is from 0 to %d, and this is %d", maxResources, v.Int())
	default:
		return int(v.Int()), true
	}
	return 0, false
}
