package template

import (
	"slices"
	"strings"

	"portico/template/document"
	"portico/template/expr"
)

// declare collects the declarations of the template's resources.
func (s *scope) declare() {
	if resources := s.template.Member("resources"); resources != nil && !s.exhausted {
		s.declareAll(resources, nil, s.loops)
	}
}

func (s *scope) declareAll(resources *document.Node, parent *declaration, loops []iteration) {
	switch {
	case resources.Is(expr.Array):
		for _, n := range resources.Elements {
			s.declareLoop("", n, parent, loops)
		}
	case resources.Is(expr.Object):
		s.distinctNames(resources)
		for _, m := range resources.Present() {
			s.declareLoop(m.Name, m.Node, parent, loops)
		}
	default:
		s.fault(resources, "resources are an array, or an object of symbols and resources, and this is %s", resources.Value.Kind())
	}
}

func (s *scope) declareLoop(symbol string, n *document.Node, parent *declaration, loops []iteration) {
	if !n.Is(expr.Object) {
		s.fault(n, "a resource is an object, and this is %s", n.Value.Kind())
		return
	}
	s.distinctNames(n)
	for _, name := range []string{"import", "extension"} {
		if m := n.Member(name); m != nil {
			s.fault(m, "resources of extensions are not supported: a template's resources are Azure Resource Manager's alone")
			s.broken[strings.ToLower(symbol)] = true
			return
		}
	}
	loop := n.Member("copy")
	if loop == nil {
		s.declareOne(symbol, n, parent, loops, nil)
		return
	}
	name := loop.Member("name").Text()
	count, ok := s.loopCount(loop, name, loops)
	if !ok {
		s.broken[strings.ToLower(name)], s.broken[strings.ToLower(symbol)] = true, true
		return
	}
	batch := s.batchSize(loop, &frame{loops: loops})
	s.loopNames[strings.ToLower(name)], s.loopNames[strings.ToLower(symbol)] = true, true
	for i := 0; i < count && !s.exhausted; i++ {
		inner := slices.Concat(loops, []iteration{{name: name, index: i, resource: true}})
		s.declareOne(symbol, n, parent, inner, &Loop{Name: name, Index: i, Count: count, Batch: batch})
	}
}

func (s *scope) loopCount(loop *document.Node, name string, loops []iteration) (count int, ok bool) {
	n := loop.Member("count")
	if name == "" || n == nil {
		s.fault(loop, "a loop of resources has a name and a count")
		return 0, false
	}
	v, ok := s.evaluate(n, &frame{loops: loops})
	if !ok {
		return 0, false
	}
	return s.checkedCount(n, v)
}

// batchSize returns how many resources of a loop are deployed concurrently; 0 means all of them.
func (s *scope) batchSize(loop *document.Node, f *frame) int {
	mode := loop.Member("mode")
	if mode == nil || strings.EqualFold(mode.Text(), "parallel") {
		return 0
	}
	if !strings.EqualFold(mode.Text(), "serial") {
		s.fault(mode, "a loop's mode is 'serial' or 'parallel'")
	}
	n := loop.Member("batchSize")
	if n == nil {
		return 1
	}
	v, ok := s.evaluate(n, f)
	if ok && (!v.Is(expr.Int) || v.Int() < 1) {
		s.fault(n, "a loop's batchSize is an integer of at least 1")
	}
	return int(max(1, min(v.Int(), maxResources)))
}

func (s *scope) declareOne(symbol string, n *document.Node, parent *declaration, loops []iteration, loop *Loop) {
	d := &declaration{s: s, node: n, symbol: symbol, loops: loops, loop: loop, waitsFor: map[*declaration]bool{}, condition: expr.BoolOf(true)}
	f := &frame{loops: loops}
	ok := d.readCondition(f)
	if d.skipped {
		defer s.muteFaults()()
	}
	if ok = ok && d.readIdentity(f, parent); !ok {
		d.broken = !d.skipped
	}
	s.add(d)
	if children := n.Member("resources"); children != nil && ok {
		s.declareAll(children, d, loops)
	}
}

// readIdentity evaluates the resource's type, name, api-version and ID.
func (d *declaration) readIdentity(f *frame, parent *declaration) bool {
	if n := d.node.Member("existing"); n != nil {
		v, _ := d.s.evaluate(n, f)
		d.existing = v.Bool()
	}
	var kindOK, nameOK, versionOK bool
	d.kind, kindOK = d.requiredString("type", f)
	d.name, nameOK = d.requiredString("name", f)
	d.apiVersion, versionOK = d.requiredString("apiVersion", f)
	if !kindOK || !nameOK || !versionOK {
		return false
	}
	if parent != nil && !strings.HasPrefix(strings.ToLower(d.kind), strings.ToLower(parent.kind)+"/") {
		d.kind, d.name = parent.kind+"/"+d.kind, parent.name+"/"+d.name
	}
	return d.identify(f, parent)
}

// muteFaults drops faults until the returned function is called. The names of a resource whose
// condition is false need not be valid.
func (s *scope) muteFaults() func() {
	outer := s.muted
	s.muted = true
	return func() { s.muted = outer }
}

// readCondition evaluates the condition, which stays Pending if it needs an answer.
func (d *declaration) readCondition(f *frame) bool {
	n := d.node.Member("condition")
	if n == nil {
		return true
	}
	v, ok := d.s.evaluate(n, f)
	if ok && !v.Is(expr.Bool|expr.Pending) {
		d.s.fault(n, "a condition is true or false, and this is %s", v.Kind())
		ok = false
	}
	d.condition, d.skipped = v, v.Is(expr.Bool) && !v.Bool()
	return ok
}
