package template

import (
	"fmt"
	"slices"
	"strings"

	"portico/template/document"
	"portico/template/expr"
)

// add records a resource under all its names.
func (s *scope) add(d *declaration) {
	s.declared = append(s.declared, d)
	if d.symbol != "" {
		s.index(d.symbol, d)
		if d.loop != nil {
			s.index(fmt.Sprintf("%s[%d]", d.symbol, d.loop.Index), d)
		}
	}
	if d.loop != nil {
		s.index(d.loop.Name, d)
	}
	s.nameless = s.nameless || d.name == "" && d.broken
	if d.name != "" {
		for _, name := range []string{d.id, d.name, lastSegment(d.name), d.kind + "/" + d.name, strings.TrimPrefix(d.path(), "/providers/")} {
			s.index(name, d)
		}
	}
	if d.skipped || d.broken {
		return
	}
	if !d.existing {
		if earlier := s.ids[strings.ToLower(d.id)]; earlier != nil {
			line := earlier.node.Fault(Code, "").Line
			s.fault(d.node, "the resource '%s' is declared more than once: first at line %d", d.id, line)
			return
		}
		s.ids[strings.ToLower(d.id)] = d
	}
	if s.count++; s.count > maxResources {
		s.fault(s.template.Member("resources"), "the template has more than %d resources", maxResources)
		s.exhausted = true
	}
}

func (s *scope) index(name string, d *declaration) {
	if name == "" {
		return
	}
	key := strings.ToLower(name)
	if slices.Contains(s.byName[key], d) {
		return
	}
	s.byName[key] = append(s.byName[key], d)
}

// resourcesNamed returns the resources that a name may mean. Symbols take precedence, then loops,
// then resources with exactly that name, then children whose last segment is the name.
func (s *scope) resourcesNamed(name string) []*declaration {
	found := s.byName[strings.ToLower(name)]
	if len(found) < 2 {
		return found
	}
	_ = s.budget.Steps(len(found)) // if the budget is spent, the next expression fails
	for _, prefer := range []func(*declaration) bool{
		func(d *declaration) bool { return strings.EqualFold(d.symbol, name) },
		func(d *declaration) bool { return d.loop != nil && strings.EqualFold(d.loop.Name, name) },
		func(d *declaration) bool { return strings.EqualFold(d.name, name) },
		func(d *declaration) bool { return !d.skipped },
	} {
		var preferred []*declaration
		for _, d := range found {
			if prefer(d) {
				preferred = append(preferred, d)
			}
		}
		if len(preferred) > 0 {
			return preferred
		}
	}
	return found
}

// isEmptyLoop reports whether the name belongs to a loop without resources.
func (s *scope) isEmptyLoop(name string) bool {
	name = strings.ToLower(name)
	return name != "" && s.loopNames[name] && len(s.byName[name]) == 0
}

// mayBeBroken reports whether the name may belong to a resource whose fault has been reported.
func (s *scope) mayBeBroken(name string) bool { return s.nameless || s.broken[strings.ToLower(name)] }

// waitFor makes d depend on other.
func (d *declaration) waitFor(other *declaration) {
	if !d.waitsFor[other] {
		d.waitsFor[other] = true
		d.dependsOn = append(d.dependsOn, other)
	}
}

func (d *declaration) readDependsOn() {
	n := d.node.Member("dependsOn")
	if n == nil {
		return
	}
	f := &frame{loops: d.loops}
	if !n.Is(expr.Array) {
		d.s.dependOn(d, n, f)
		return
	}
	for _, e := range n.Elements {
		d.s.dependOn(d, e, f)
	}
}

// dependOn reads an element of dependsOn, or an expression that returns the whole list.
func (s *scope) dependOn(d *declaration, n *document.Node, f *frame) {
	v, ok := s.evaluate(n, f)
	if !ok {
		return
	}
	names := []expr.Value{v}
	if v.Is(expr.Array) && n.Is(expr.String) {
		names = v.Elements()
	}
	for _, name := range names {
		if err := s.budget.Steps(1); err != nil {
			s.reportError(n, err)
			return
		}
		if !name.Is(expr.String) {
			s.fault(n, "dependsOn has names, IDs or symbols of resources, and this is of kind %s", name.Kind())
			continue
		}
		found := s.resourcesNamed(name.Text())
		if len(found) == 0 && !s.isEmptyLoop(name.Text()) && !s.mayBeBroken(name.Text()) {
			s.fault(n, "the resource '%s' is not in the template%s", name.Text(), s.suggestResource(name.Text()))
		}
		if len(found) > 1 && !s.loopNames[strings.ToLower(name.Text())] {
			s.fault(n, "'%s' names %d resources of the template; use a type with the name, or an ID", name.Text(), len(found))
			continue
		}
		for _, other := range found {
			d.waitFor(other)
		}
	}
}

func (s *scope) suggestResource(name string) string {
	names := make([]string, 0, 2*len(s.declared))
	for _, d := range s.declared {
		if d.symbol != "" {
			names = append(names, d.symbol)
		}
		names = append(names, d.name)
	}
	return s.suggestName(name, names)
}

// serialize makes each batch of a serial loop depend on the one before.
func (s *scope) serialize() {
	loops := map[string][]*declaration{}
	for _, d := range s.declared {
		if d.loop == nil || d.loop.Batch == 0 || d.skipped {
			continue
		}
		key := d.kind + "\n" + d.loop.Name
		for _, earlier := range loops[key] {
			if earlier.loop.Index/d.loop.Batch == d.loop.Index/d.loop.Batch-1 {
				d.waitFor(earlier)
			}
		}
		loops[key] = append(loops[key], d)
	}
}
