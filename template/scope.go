package template

import (
	"slices"
	"strings"

	"portico/template/document"
	"portico/template/expr"
)

// scope is the state of one template: the outermost, or a nested deployment's.
type scope struct {
	*expansion
	template *document.Node
	name     string
	location expr.Value // of the deployment
	// deployment caches deployment(); null until an expression calls it.
	deployment expr.Value
	typeless   bool       // types may be omitted: languageVersion 2.0
	at         expr.Scope // the default scope of its resources

	// values is the scope whose parameters and variables the expressions see: this one, or an
	// enclosing one for nested templates with outer scope.
	values *scope
	// loops are those around the deployment resource, for a nested template with outer scope.
	loops []iteration
	// parent is the deployment resource that holds the template; nil for the outermost.
	parent *declaration
	depth  int

	parameters     map[string]*slot
	parameterOrder []*slot // in order
	variables      map[string]*slot
	functions      map[string]*expr.Function // by namespace.name
	context        map[string]*expr.Function
	frame          *frame // of the expression being evaluated
	working        []string

	declared     []*declaration
	byName       map[string][]*declaration // by every name that dependsOn and reference may use
	ids          map[string]*declaration
	loopNames    map[string]bool
	broken       map[string]bool // names of loops and symbols with reported faults
	needsAnswers bool            // a value is needed early, but Pending
	outputList   []Output        // cached result of outputs
	nameless     bool            // a resource's name has a fault
	incomplete   bool            // an output has a fault
	outputsDone  bool
}

// frame is the context of an expression.
type frame struct {
	loops    []iteration
	defaults bool // in a parameter's default value
	// owner is the resource that holds the expression. For outputs of a nested deployment with
	// outer scope it is the deployment; for other outputs, nil.
	owner *declaration
	// mayNeedAnswer allows calls that a provider must answer.
	mayNeedAnswer bool
}

type iteration struct {
	name     string
	index    int
	resource bool // of resources, not of properties
}

func (f *frame) with(i iteration) *frame {
	inner := *f
	inner.loops = slices.Concat(f.loops, []iteration{i})
	return &inner
}

func (e *expansion) newScope(t *document.Node, at expr.Scope, name string, location expr.Value) *scope {
	s := &scope{expansion: e, template: t, at: at, name: name, location: location,
		parameters: map[string]*slot{}, variables: map[string]*slot{}, functions: map[string]*expr.Function{},
		byName: map[string][]*declaration{}, ids: map[string]*declaration{}, loopNames: map[string]bool{}, broken: map[string]bool{}}
	s.values = s
	s.context = s.contextFunctions()
	return s
}

// templateMembers lists the members of a template.
var templateMembers = []string{"$schema", "languageVersion", "contentVersion", "apiProfile", "metadata", "definitions",
	"parameters", "functions", "variables", "resources", "outputs"}

// read reads everything but the resources.
func (s *scope) read(arguments []Argument) {
	if !s.template.Is(expr.Object) {
		s.fault(s.template, "a template is an object, and this is %s", s.template.Value.Kind())
		s.exhausted = true
		return
	}
	s.checkMembers()
	s.checkSchema()
	version := s.template.Member("languageVersion").Text()
	s.typeless = strings.HasPrefix(version, "2.")
	if version != "" && version != "1.0" && version != "1.9-experimental" && version != "1.10-experimental" && !s.typeless {
		s.fault(s.template.Member("languageVersion"), "the language's versions are 1.0 and 2.0, and this is '%s'", version)
	}
	s.readFunctions()
	s.readParameters(arguments)
	s.readVariables()
}

func (s *scope) checkMembers() {
	for _, m := range s.template.Present() {
		s.checkMember(m)
	}
	s.checkNames()
}

func (s *scope) checkMember(m document.Member) {
	for _, name := range templateMembers {
		if strings.EqualFold(name, m.Name) {
			return
		}
	}
	switch strings.ToLower(m.Name) {
	case "imports", "extensions":
		if len(m.Node.Members) > 0 {
			s.keyFault(s.template, m, "extensions of the language ('%s') are not supported: a template's resources are Azure Resource Manager's alone", m.Name)
		}
		return
	case "asserts":
		s.keyFault(s.template, m, "asserts are not supported")
		return
	}
	s.keyFault(s.template, m, "a template has no member '%s'%s", m.Name, s.suggestName(m.Name, templateMembers))
}

// checkSchema checks that $schema matches the scope of the deployment.
func (s *scope) checkSchema() {
	for _, name := range []string{"$schema", "contentVersion", "resources"} {
		if s.template.Member(name) == nil {
			s.fault(s.template, "the template lacks its member '%s'", name)
		}
	}
	schema := s.template.Member("$schema")
	if schema == nil {
		return
	}
	_, file, _ := strings.Cut(strings.TrimSuffix(strings.ToLower(schema.Text()), "#"), "/schemas/")
	_, file, _ = strings.Cut(file, "/")
	switch file {
	case "deploymenttemplate.json": // compilers also write it for subscriptions
	case "subscriptiondeploymenttemplate.json":
		if s.at.Group != "" {
			s.fault(schema, "the template's $schema is that of subscriptions, and it is deployed to a resource group: use deploymentTemplate.json")
		}
	case "managementgroupdeploymenttemplate.json", "tenantdeploymenttemplate.json":
		s.fault(schema, "deployments to management groups and tenants are not supported")
	default:
		s.fault(schema, "'%s' is not the $schema of a template", schema.Text())
	}
}

// slot is a parameter or variable, evaluated on first use.
type slot struct {
	name  string
	state int
	value expr.Value
	ok    bool
	node  *document.Node
	given *Argument
	kind  string
}

const (
	untouched = iota
	evaluating
	finished
)

// evaluateOnce evaluates a slot on first use. The error of a slot that needs itself names the
// cycle.
func (s *scope) evaluateOnce(slot *slot, what string, work func() (expr.Value, bool)) (expr.Value, error) {
	switch slot.state {
	case evaluating:
		from := 0
		for s.working[from] != what {
			from++
		}
		return expr.Value{}, expr.Errorf("it needs itself: %s → %s", strings.Join(s.working[from:], " → "), what)
	case untouched:
		slot.state = evaluating
		s.working = append(s.working, what)
		outer := s.frame
		slot.value, slot.ok = work()
		s.frame = outer
		s.working = s.working[:len(s.working)-1]
		slot.state = finished
	}
	if !slot.ok {
		return expr.Value{}, expr.ErrReported
	}
	return slot.value, nil
}

// reportUnknown reports a Pending value that must be known to expand the template. In a nested
// deployment it is not a fault: the deployment is unfolded once the answers arrive.
func (s *scope) reportUnknown(at *document.Node, v expr.Value, what string) {
	if s.parent != nil && s.values == s {
		s.needsAnswers = true
		return
	}
	if err := s.budget.Bytes(v.Size()); err != nil {
		s.reportError(at, err)
		return
	}
	s.fault(at, "%s must be known before anything is deployed, and this one needs %s", what, strings.Join(Needs(v), ", "))
}
