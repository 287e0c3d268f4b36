package template

import (
	"cmp"
	"strings"

	"portico/template/expr"
)

// bytesOfQuestion is the approximate size of a question without its texts, which belong to the
// template.
const bytesOfQuestion = 512

// reference implements the template function. For an unfolded nested deployment the result is
// known; for other resources it is a Pending call with the resource's ID and api-version.
func (s *scope) reference(c *expr.Call, args []expr.Value) (expr.Value, error) {
	full, err := wantsFull(args, 2)
	if err != nil {
		return expr.Value{}, err
	}
	if err := c.Bytes(bytesOfQuestion); err != nil {
		return expr.Value{}, err
	}
	target, err := s.findTarget(args[0].Text())
	if err != nil {
		return expr.Value{}, err
	}
	version := ""
	if len(args) > 1 {
		version, err = versionIn(args)
	}
	if err != nil {
		return expr.Value{}, err
	}
	if target != nil {
		return s.referenceTo(target, version, full, askedMembers)
	}
	if s.mayBeBroken(args[0].Text()) {
		return expr.Value{}, expr.ErrReported
	}
	if !strings.HasPrefix(args[0].Text(), "/") || version == "" {
		return expr.Value{}, expr.Errorf("the template has no resource '%s'; of one elsewhere the ID and an api-version are needed", args[0].Text())
	}
	return pendingReference(args[0].Text(), version, full), nil
}

// versionIn returns the api-version among the arguments of a question. It must not be secret,
// because it becomes part of a URL, which logs show.
func versionIn(args []expr.Value) (string, error) {
	if args[1].Secure() {
		return "", expr.Errorf("an api-version cannot be made of a secret")
	}
	return args[1].Text(), nil
}

func wantsFull(args []expr.Value, at int) (bool, error) {
	if len(args) <= at {
		return false, nil
	}
	if !strings.EqualFold(args[at].Text(), "Full") {
		return false, expr.Errorf("its last argument can be 'Full' alone")
	}
	return true, nil
}

func pendingReference(id, version string, full bool) expr.Value {
	args := []expr.Value{expr.StringOf(id), expr.StringOf(version)}
	if full {
		args = append(args, expr.StringOf("Full"))
	}
	return expr.PendingOf(expr.Invoke("reference", args...))
}

func (s *scope) referenceTo(target *declaration, version string, full bool, asked []string) (expr.Value, error) {
	if err := s.addDependency(target); err != nil {
		return expr.Value{}, err
	}
	if version == "" {
		version = target.apiVersion
	}
	if target.nested != nil && !target.skipped {
		return target.deploymentValue(version, full, asked)
	}
	return pendingReference(target.id, version, full), nil
}

// findTarget returns the resource that the argument of reference or list* names, or nil if the
// template has none.
func (s *scope) findTarget(name string) (*declaration, error) {
	found := s.findResources(name)
	if len(found) > 1 {
		return nil, expr.Errorf("'%s' names %d resources of the template", name, len(found))
	}
	if err := s.checkAnswersAllowed(); err != nil || len(found) == 0 {
		return nil, err
	}
	if found[0].broken {
		return nil, expr.ErrReported
	}
	return found[0], nil
}

func (s *scope) checkAnswersAllowed() error {
	if s.frame.mayNeedAnswer {
		return nil
	}
	return expr.Errorf("it needs a provider's answer, and stands here where none is awaited: use it in what resources hold and in outputs")
}

// findResources looks up resources by name, from the template that holds the expression outwards to
// the one whose values the expression sees.
func (s *scope) findResources(name string) []*declaration {
	from := s
	if owner := s.frame.owner; owner != nil {
		from = owner.s
	}
	for {
		if found := from.resourcesNamed(name); len(found) > 0 || from == s || from.parent == nil {
			return found
		}
		from = from.parent.s
	}
}

// addDependency makes the resource that holds the expression wait for target.
func (s *scope) addDependency(target *declaration) error {
	owner := s.frame.owner
	for owner != nil && owner.s != target.s {
		owner = owner.s.parent
	}
	if owner == target {
		return expr.Errorf("the resource refers to itself")
	}
	if owner != nil {
		owner.waitFor(target)
	}
	if target.isDeployment && !target.skipped {
		return target.unfold()
	}
	return nil
}

// references implements the template function, which returns the answers of all resources of a
// loop.
func (s *scope) references(c *expr.Call, args []expr.Value) (expr.Value, error) {
	full, err := wantsFull(args, 1)
	if err != nil {
		return expr.Value{}, err
	}
	if err := s.checkAnswersAllowed(); err != nil {
		return expr.Value{}, err
	}
	found := s.findResources(args[0].Text())
	if s.mayBeBroken(args[0].Text()) {
		return expr.Value{}, expr.ErrReported
	}
	if !s.isLoop(args[0].Text(), found) {
		return expr.Value{}, expr.Errorf("the template has no loop of resources '%s'", args[0].Text())
	}
	if err := cmp.Or(c.Elements(len(found)), c.Bytes(len(found)*bytesOfQuestion)); err != nil {
		return expr.Value{}, err
	}
	answers := make([]expr.Value, len(found))
	for i, target := range found {
		// Without members to ask for: they would make the whole array Pending for functions that
		// look into it.
		if answers[i], err = s.referenceTo(target, "", full, nil); err != nil {
			return expr.Value{}, err
		}
	}
	return expr.ArrayOf(answers...), nil
}

// isLoop reports whether the found resources are all resources of one loop.
func (s *scope) isLoop(name string, found []*declaration) bool {
	if len(found) == 0 {
		return s.isEmptyLoop(name)
	}
	return found[0].loop != nil && found[0].loop.Index == 0 && len(found) == found[0].loop.Count
}

func (s *scope) resourceInfo(_ *expr.Call, args []expr.Value) (expr.Value, error) {
	found := s.findResources(args[0].Text())
	if len(found) != 1 {
		return expr.Value{}, expr.Errorf("the template has no resource '%s'", args[0].Text())
	}
	d := found[0]
	return object("id", d.id, "name", lastSegment(d.name), "type", d.kind, "apiVersion", d.apiVersion), nil
}

func lastSegment(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// list implements list*, which calls a resource's action.
func (s *scope) list(c *expr.Call, args []expr.Value) (expr.Value, error) {
	target, err := s.findTarget(args[0].Text())
	if err != nil {
		return expr.Value{}, err
	}
	if strings.EqualFold(c.Name, secureOutputs) &&
		(target != nil && strings.EqualFold(target.kind, deploymentType) || target == nil && isDeploymentID(args[0].Text())) {
		return s.secureOutputs(target, args)
	}
	if err := c.Bytes(bytesOfQuestion); err != nil {
		return expr.Value{}, err
	}
	if _, err := versionIn(args); err != nil {
		return expr.Value{}, err
	}
	args = append([]expr.Value(nil), args...)
	if target != nil {
		if err := s.addDependency(target); err != nil {
			return expr.Value{}, err
		}
		args[0] = expr.StringOf(target.id)
	} else if !strings.HasPrefix(args[0].Text(), "/") {
		return expr.Value{}, expr.Errorf("the template has no resource '%s'; of one elsewhere the ID is needed", args[0].Text())
	}
	return expr.PendingOf(expr.Invoke(c.Name, args...)), nil
}

// secureOutputs returns a nested deployment's outputs including secrets. They are never stored, so
// they are evaluated at each use.
func (s *scope) secureOutputs(target *declaration, args []expr.Value) (expr.Value, error) {
	if target == nil || target.existing {
		return expr.Value{}, expr.Errorf("the secure outputs of '%s' are known to the template that deploys it alone", args[0].Text())
	}
	if err := s.addDependency(target); err != nil {
		return expr.Value{}, err
	}
	switch {
	case target.skipped:
		return expr.Value{}, expr.Errorf("the deployment '%s' has no outputs, as its condition is false", target.name)
	case target.unfolds != nil:
		return expr.PendingOf(expr.Invoke(secureOutputs, expr.StringOf(target.id), args[1])), nil
	case target.nested == nil || target.nested.incomplete:
		return expr.Value{}, expr.ErrReported
	}
	return OutputValues(target.nested.outputs()), nil
}
