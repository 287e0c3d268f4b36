package template

import (
	"slices"
	"strings"

	"portico/template/document"
	"portico/template/expr"
)

// scope is one template: the outermost, or a nested deployment's.
type scope struct {
	*expansion
	template *document.Node
	name     string
	location expr.Value // of the deployment
	// deployment is deployment(); null until an expression asks for it.
	deployment expr.Value
	typeless   bool       // types may be left out: languageVersion 2.0
	at         expr.Scope // where its resources lie

	// values is the template whose parameters and variables its expressions see: itself, or
	// the one around it.
	values *scope
	// loops are around the deployment resource, in view of a template whose values are the
	// ones around it.
	loops []iteration
	// parent is the deployment resource that it is nested in; nil for the outermost.
	parent *declaration
	depth  int

	parameters  map[string]*slot
	parameterOf []*slot // in order
	variables   map[string]*slot
	functions   map[string]*expr.Function // by namespace.name
	context     map[string]*expr.Function
	frame       *frame // what is being evaluated
	working     []string

	declared   []*declaration
	byName     map[string][]*declaration // by all names that dependsOn and reference may use
	ids        map[string]*declaration
	loopNames  map[string]bool
	broken     map[string]bool // what names a loop, or a symbol, that has a fault
	waits      bool            // something that must be known needs an answer first
	settled    []Output        // outputs, once they are worked out
	nameless   bool            // a resource has a fault in its name
	incomplete bool            // an output has a fault
	done       bool
}

// frame is where an expression stands.
type frame struct {
	loops    []iteration
	defaults bool // it is a parameter's default value
	// owner is the resource that it is of; of a nested deployment's outputs that see what is
	// around it, the deployment; nil of other outputs.
	owner *declaration
	// answers says that it may need a provider's answer.
	answers bool
}

type iteration struct {
	name     string
	index    int
	resource bool // a loop of resources
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

// templateMembers are what a template may hold.
var templateMembers = []string{"$schema", "languageVersion", "contentVersion", "apiProfile", "metadata", "definitions",
	"parameters", "functions", "variables", "resources", "outputs"}

// read reads all of a template but its resources.
func (s *scope) read(arguments []Argument) {
	if !s.template.Is(expr.Object) {
		s.fault(s.template, "a template is an object, and this is %s", s.template.Value.Kind())
		s.over = true
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
	s.keyFault(s.template, m, "a template has no member '%s'%s", m.Name, s.guess(m.Name, templateMembers))
}

// checkSchema compares the template's kind with the scope that it is deployed to.
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
	case "deploymenttemplate.json": // what compilers write at subscriptions as well
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

// slot is a parameter or variable, worked out when it is first used.
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

// settle works a slot out once. A slot that needs itself is a cycle, which is named.
func (s *scope) settle(slot *slot, what string, work func() (expr.Value, bool)) (expr.Value, error) {
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

// wait reports that a value must be known before the template can be worked out. Of a
// nested deployment that is no fault: it is worked out once the answers are there.
func (s *scope) wait(at *document.Node, v expr.Value, what string) {
	if s.parent != nil && s.values == s {
		s.waits = true
		return
	}
	if err := s.budget.Bytes(v.Size()); err != nil {
		s.failed(at, err)
		return
	}
	s.fault(at, "%s must be known before anything is deployed, and this one needs %s", what, strings.Join(Needs(v), ", "))
}
