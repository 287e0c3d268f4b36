package template

import (
	"slices"
	"strings"

	"portico/template/expr"
)

// emit adds the resources to the plan, each after all that it depends on. It reports cycles.
func (s *scope) emit() { s.emitAll(nil, nil) }

// emitAll emits a template's resources, which all wait for before. It returns the resources on
// which no other resource of the template depends.
func (s *scope) emitAll(before []*Resource, within *Deployment) []*Resource {
	var all []*Resource
	waited := map[*Resource]bool{}
	for _, d := range s.declared {
		if !s.emitOne(d, before, within, nil) {
			return nil
		}
	}
	for _, d := range s.declared {
		all = append(all, d.leaves...)
		for _, other := range d.dependsOn {
			for _, r := range other.leaves {
				waited[r] = true
			}
		}
	}
	return slices.DeleteFunc(all, func(r *Resource) bool { return waited[r] })
}

func (s *scope) emitOne(d *declaration, before []*Resource, within *Deployment, path []*declaration) bool {
	switch d.visit {
	case finished:
		return true
	case evaluating:
		s.reportCycle(append(path[slices.Index(path, d):], d))
		return false
	}
	d.visit = evaluating
	path = append(path, d)
	var waits []*Resource
	seen := map[*Resource]bool{}
	for _, other := range d.dependsOn {
		if !s.emitOne(other, before, within, path) {
			return false
		}
		if other.deployed != nil {
			d.awaits = append(d.awaits, other.deployed)
		}
		for _, r := range other.leaves {
			if !seen[r] {
				seen[r] = true
				waits = append(waits, r)
			}
		}
	}
	d.visit = finished
	if d.skipped {
		return true
	}
	if len(waits) == 0 {
		waits = before
	}
	d.emit(waits, within)
	return true
}

func (s *scope) reportCycle(path []*declaration) {
	names := make([]string, len(path))
	for i, d := range path {
		if names[i] = d.name; d.symbol != "" {
			names[i] = d.symbol
		}
	}
	s.fault(path[0].node, "resources wait for each other: %s", strings.Join(names, " → "))
}

func (d *declaration) emit(waits []*Resource, within *Deployment) {
	plan := d.s.plan
	if d.nested == nil {
		r := &Resource{ID: d.id, Symbol: d.symbol, Type: d.kind, Name: d.name, APIVersion: d.apiVersion, Scope: d.at, Existing: d.existing,
			Body: d.body, Options: d.options, Condition: d.condition, DependsOn: waits, Awaits: d.awaits, Loop: d.loop, Within: within,
			Unfolds: d.unfolds, At: d.node}
		if d.unfolds != nil {
			d.unfolds.Deployment = d.deployment(waits, within)
		}
		plan.Resources = append(plan.Resources, r)
		d.leaves = []*Resource{r}
		return
	}
	inner := d.deployment(waits, within)
	inner.Parameters, inner.Outputs = d.nested.parameterValues(), d.nested.outputs()
	plan.Deployments, d.deployed = append(plan.Deployments, inner), inner
	d.conditionNested()
	if d.leaves = d.nested.emitAll(waits, inner); len(d.leaves) == 0 {
		d.leaves = waits
	}
}

func (d *declaration) deployment(waits []*Resource, within *Deployment) *Deployment {
	return &Deployment{
		ID: d.id, Name: d.name, Scope: d.at, Location: d.location, Template: d.template, Within: within, Condition: d.condition, DependsOn: waits,
		Awaits: d.awaits,
	}
}

// conditionNested adds a deployment's Pending condition to the conditions of its resources.
func (d *declaration) conditionNested() {
	if d.condition.Known() {
		return
	}
	for _, inner := range d.nested.declared {
		both := d.condition
		if !inner.condition.Known() {
			both = expr.PendingOf(expr.Invoke("and", d.condition, inner.condition))
		}
		inner.condition = both
	}
}
