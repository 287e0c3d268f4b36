package deploy

import (
	"strings"

	"portico/arm"
	"portico/jobs/deploy/deployplan"
	"portico/template"
)

// step is a step of a deployment: a resource, or a nested deployment.
type step struct {
	resource *template.Resource   // nil for a nested deployment
	nested   *template.Deployment // nil for a resource
	// unfolds is set if the steps in the nested deployment are known only once it begins.
	unfolds   *template.Unfolding
	within    int // the number of the nested deployment's step that holds it, or outermost
	dependsOn []int
}

// outermost is the step.within of steps that no nested deployment holds.
const outermost = -1

func (s *step) reference() Reference {
	if s.nested != nil {
		return Reference{s.nested.ID, Type, s.nested.Name}
	}
	return Reference{s.resource.ID, s.resource.Type, s.resource.Name}
}

// location returns the location of the resource, or "" if it is not known before it is sent.
func (s *step) location() string {
	if s.nested != nil {
		return ""
	}
	return arm.Location(locationOf(s.resource))
}

// recordTarget names the step in its record, for readers who have not expanded the template.
func (s *step) recordTarget(r *stepRecord) { r.Target, r.Within = new(s.reference()), s.within+1 }

func (s *step) existing() bool { return s.resource != nil && s.resource.Existing }

// around returns the nested deployment of the plan that holds the step, and the steps in it
// that the step depends on: resources directly within it, or the deployments that hold them.
func (s *step) around() (within *template.Deployment, dependsOn []any) {
	var resources []*template.Resource
	var awaits []*template.Deployment
	if s.nested != nil {
		within, resources, awaits = s.nested.Within, s.nested.DependsOn, s.nested.Awaits
	} else {
		within, resources, awaits = s.resource.Within, s.resource.DependsOn, s.resource.Awaits
	}
	for _, r := range resources {
		dependsOn = append(dependsOn, directly(r, within))
	}
	for _, d := range awaits {
		dependsOn = append(dependsOn, d)
	}
	return within, dependsOn
}

// stepsOf returns the steps of a plan, with numbers from from on, in the step within.
func stepsOf(p *template.Plan, from, within int) []step {
	steps := make([]step, 0, len(p.Resources)+len(p.Deployments))
	number := map[any]int{} // of resources and deployments
	for _, r := range p.Resources {
		number[r] = from + len(steps)
		if r.Unfolds != nil {
			steps = append(steps, step{nested: r.Unfolds.Deployment, unfolds: r.Unfolds})
		} else {
			steps = append(steps, step{resource: r})
		}
	}
	for _, d := range p.Deployments {
		number[d] = from + len(steps)
		steps = append(steps, step{nested: d})
	}
	for i := range steps {
		s := &steps[i]
		around, dependsOn := s.around()
		if s.within = within; around != nil {
			s.within = number[around]
		}
		seen := map[int]bool{}
		for _, on := range dependsOn {
			if n, alongside := number[on]; alongside && !seen[n] {
				seen[n] = true
				s.dependsOn = append(s.dependsOn, n)
			}
		}
	}
	return steps
}

// directly returns the resource, or the deployment that holds it, which lies directly within a
// nested deployment; nil if the resource lies elsewhere: then the nested deployment as a whole
// waits for it.
func directly(r *template.Resource, within *template.Deployment) any {
	var found any = r
	for d := r.Within; d != within; d = d.Within {
		if d == nil {
			return nil
		}
		found = d
	}
	return found
}

// plannedSteps returns the steps, with numbers from from on, in the form of package deployplan.
func plannedSteps(steps []step, from int) []deployplan.PlannedStep {
	all := make([]deployplan.PlannedStep, len(steps))
	for i := range steps {
		s := &steps[i]
		all[i] = deployplan.PlannedStep{DependsOn: s.dependsOn, Nested: s.nested != nil}
		if s.resource != nil {
			all[i].Endpoint = endpointOf(s.resource)
		}
	}
	for i := range steps {
		if holder := steps[i].within - from; holder >= 0 {
			all[holder].Holds = append(all[holder].Holds, from+i)
		}
	}
	return all
}

// endpointOf returns the namespace and the location of a resource, which identify its endpoint
// as well as they can before it is sent.
func endpointOf(r *template.Resource) string {
	namespace, _, _ := strings.Cut(r.Type, "/")
	return arm.Fold(namespace) + " " + arm.Location(locationOf(r))
}

// locationOf returns the location of a resource, or "" if it is not known or is a secret.
func locationOf(r *template.Resource) string {
	v, _ := r.Body.Member("location")
	if v.Secure() {
		return ""
	}
	return v.Text()
}

// firstIn returns the steps directly in a deployment that depend on no other. Its dependencies
// name the rest.
func firstIn(steps []step, within int) (first []Reference) {
	for i := range steps {
		if s := &steps[i]; s.within == within && len(s.dependsOn) == 0 && !s.existing() {
			first = append(first, s.reference())
		}
	}
	return first
}

// stepsWithin returns the numbers of the steps in a nested deployment, at any depth, in order.
func stepsWithin(steps []step, within int) (all []int) {
	for i := range steps {
		around := steps[i].within
		for around != within && around != outermost {
			around = steps[around].within
		}
		if around == within {
			all = append(all, i)
		}
	}
	return all
}
