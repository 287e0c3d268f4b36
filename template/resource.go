package template

import (
	"strings"

	"portico/template/document"
	"portico/template/expr"
)

// declaration is a resource of a template: of a loop one for each index.
type declaration struct {
	s      *scope
	node   *document.Node
	symbol string
	loops  []iteration
	loop   *Loop

	kind       string // its whole type
	name       string // its whole name
	id         string
	apiVersion string
	at         expr.Scope
	existing   bool
	condition  expr.Value
	skipped    bool // its condition is false
	broken     bool // what it is has a fault, which is reported

	dependsOn []*declaration
	waits     map[*declaration]bool
	body      expr.Value
	options   Options

	isDeployment bool
	arguments    []Argument // of a nested deployment
	location     expr.Value // of a nested deployment
	template     *document.Node
	nested       *scope        // what a nested deployment holds
	known        []expr.Member // of what reference says of a nested deployment; nil until it is asked
	unfolding    int           // untouched, evaluating, finished
	unfolds      *Unfolding

	visit  int // of the walk that orders resources
	leaves []*Resource
	// awaits and deployed are of the plan: the nested deployments that it waits for, and its own.
	awaits   []*Deployment
	deployed *Deployment
}

// deploymentType is that of nested deployments.
const deploymentType = "Microsoft.Resources/deployments"

// unsupportedTypes are refused by name.
var unsupportedTypes = map[string]string{
	"microsoft.resources/deploymentscripts":               "deployment scripts are not supported: nothing runs them",
	"microsoft.resources/templatespecs":                   "template specs are not supported",
	"microsoft.resources/templatespecs/versions":          "template specs are not supported",
	"microsoft.resources/deploymentstacks":                "deployment stacks are not supported",
	"microsoft.management/managementgroups":               "management groups are not supported",
	"microsoft.management/managementgroups/subscriptions": "management groups are not supported",
}

// resourceMembers are what says how a resource is deployed; all else is its body.
var resourceMembers = map[string]bool{"name": true, "type": true, "apiversion": true, "dependson": true, "condition": true, "copy": true,
	"scope": true, "resources": true, "comments": true, "existing": true, "metadata": true, "subscriptionid": true, "resourcegroup": true, "@options": true}

// frame is where the resource's body stands.
func (d *declaration) frame() *frame { return &frame{loops: d.loops, owner: d, answers: true} }

// expand works out all bodies and what they wait for.
func (s *scope) expand() {
	for _, d := range s.declared {
		if s.over {
			return
		}
		if !d.skipped && !d.broken {
			d.expand()
		}
	}
	s.serialize()
}

func (d *declaration) expand() {
	d.readDependsOn()
	d.readOptions()
	switch {
	case d.isDeployment:
		if err := d.unfold(); err != nil {
			d.s.failed(d.node, err)
		}
	case !d.existing:
		d.readBody()
	}
}

func (d *declaration) readBody() {
	s, f := d.s, d.frame()
	members := make([]expr.Member, 0, len(d.node.Members))
	for _, m := range d.node.Members {
		lower := strings.ToLower(m.Name)
		if resourceMembers[lower] {
			continue
		}
		if strings.HasPrefix(m.Name, "@") { // meant for who sends the resource: its provider must not take it for a property
			s.keyFault(d.node, m, "a resource has no member '%s'%s", m.Name, s.guess(m.Name, []string{"@options"}))
			continue
		}
		v, ok := s.evaluate(m.Node, f)
		if ok && !v.Is(expr.Null) {
			members = append(members, expr.Member{Name: m.Name, Value: v})
		}
	}
	d.body = expr.ObjectOf(members...)
	s.fits(d.node, d.body)
}
