package template

import (
	"slices"

	"portico/template/document"
	"portico/template/expr"
)

// outputs evaluates the template's outputs, once.
func (s *scope) outputs() []Output {
	if s.outputsDone {
		return s.outputList
	}
	s.outputsDone = true
	declared := s.template.Member("outputs")
	if declared == nil {
		return nil
	}
	if !declared.Is(expr.Object) {
		s.fault(declared, "outputs are an object, and this is %s", declared.Value.Kind())
		return nil
	}
	all := declared.Present()
	if len(all) > maxOutputs {
		s.fault(declared, "the template has %d outputs, and %d are the most", len(all), maxOutputs)
	}
	for _, m := range all {
		if o, there, ok := s.output(m); there {
			s.outputList = append(s.outputList, o)
		} else if !ok {
			s.incomplete = true
		}
	}
	return s.outputList
}

// OutputValues returns an object of the outputs' values, including secrets.
func OutputValues(outputs []Output) expr.Value {
	return objectOfOutputs(outputs, func(o Output) expr.Value { return o.Value })
}

// shownOutputs returns the outputs as answers show them.
func shownOutputs(outputs []Output) expr.Value {
	return objectOfOutputs(outputs, func(o Output) expr.Value { return object("type", TypeName(o.Type), "value", o.Value) })
}

func objectOfOutputs(outputs []Output, value func(Output) expr.Value) expr.Value {
	members := make([]expr.Member, len(outputs))
	for i, o := range outputs {
		v := value(o)
		if !o.Condition.Known() {
			v = expr.PendingOf(expr.Invoke("if", o.Condition, v, expr.Value{}))
		}
		members[i] = expr.Member{Name: o.Name, Value: v}
	}
	return expr.ObjectOf(members...)
}

// output evaluates an output. there is false if the output's condition is false.
func (s *scope) output(m document.Member) (o Output, there, ok bool) {
	f := &frame{mayNeedAnswer: true, loops: slices.Clone(s.loops)}
	for i := range f.loops {
		f.loops[i].resource = false // here copyIndex() means the output's own loop
	}
	if s.values != s {
		f.owner = s.parent // expressions see the enclosing template, and the deployment waits for what they refer to
	}
	o = Output{Name: m.Name, Condition: expr.BoolOf(true)}
	if n := m.Node.Member("condition"); n != nil {
		v, ok := s.evaluate(n, f)
		if ok && !v.Is(expr.Bool|expr.Pending) {
			s.fault(n, "a condition is true or false, and this is %s", v.Kind())
		}
		if o.Condition = v; v.Is(expr.Bool) && !v.Bool() || !ok {
			return o, false, ok
		}
	}
	c := checker{scope: s, definitions: s.template.Member("definitions"), label: "the output '" + m.Name + "'"}
	d, ok := c.resolve(m.Node)
	if !ok {
		return o, false, false
	}
	v, at, ok := s.outputValue(m, f)
	if !ok {
		return o, false, false
	}
	if o.Type = d.member("type").Text(); o.Type == "" {
		o.Type = v.Kind().String()
	}
	o.Value, ok = c.check(d, v, at)
	return o, ok, ok
}

func (s *scope) outputValue(m document.Member, f *frame) (v expr.Value, at *document.Node, ok bool) {
	if loop := m.Node.Member("copy"); loop.MemberOrNull("input") != nil && loop.Member("count") != nil {
		outer := s.values.frame
		s.values.frame = f
		defer func() { s.values.frame = outer }()
		w := walker{s.values, s.env(s.values, f), f}
		v, ok = w.loop(m.Name, loop.Member("count"), loop.MemberOrNull("input"))
		return v, loop, ok
	}
	n := m.Node.MemberOrNull("value")
	if n == nil {
		s.fault(m.Node, "the output '%s' has neither a value nor a loop", m.Name)
		return v, nil, false
	}
	v, ok = s.evaluate(n, f)
	return v, n, ok
}
