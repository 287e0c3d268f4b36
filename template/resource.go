package template

import (
	"strings"

	"portico/template/document"
	"portico/template/expr"
)

// declaration is a resource of a template; a loop has one for each index.
type declaration struct {
	s      *scope
	node   *document.Node
	symbol string
	loops  []iteration
	loop   *Loop

	kind       string // including the parents' types
	name       string // including the parents' names
	id         string
	apiVersion string
	at         expr.Scope
	existing   bool
	condition  expr.Value
	skipped    bool // the condition is false
	broken     bool // a fault in its identity has been reported

	dependsOn []*declaration
	waitsFor  map[*declaration]bool
	body      expr.Value
	options   Options

	isDeployment bool
	arguments    []Argument // nested deployments only
	location     expr.Value // nested deployments only
	template     *document.Node
	nested       *scope        // the template of a nested deployment
	knownMembers []expr.Member // cached members of reference's result for a nested deployment
	unfolding    int           // untouched, evaluating, finished
	unfolds      *Unfolding

	visit  int // state of the walk that orders resources
	leaves []*Resource
	// The nested deployments that it waits for, and its own, in the plan.
	awaits   []*Deployment
	deployed *Deployment
}

// deploymentType is the type of nested deployments.
const deploymentType = "Microsoft.Resources/deployments"

// unsupportedTypes maps the types that deployments must not create to the reason.
var unsupportedTypes = map[string]string{
	"microsoft.resources/deploymentscripts":               "deployment scripts are not supported: nothing runs them",
	"microsoft.resources/templatespecs":                   "template specs are not supported",
	"microsoft.resources/templatespecs/versions":          "template specs are not supported",
	"microsoft.resources/deploymentstacks":                "deployment stacks are not supported",
	"microsoft.management/managementgroups":               "management groups are not supported",
	"microsoft.management/managementgroups/subscriptions": "management groups are not supported",
}

// resourceMembers are the members that control the deployment; all others form the body.
var resourceMembers = map[string]bool{"name": true, "type": true, "apiversion": true, "dependson": true, "condition": true, "copy": true,
	"scope": true, "resources": true, "comments": true, "existing": true, "metadata": true, "subscriptionid": true, "resourcegroup": true, "@options": true}

// frame returns the evaluation context of the resource's body.
func (d *declaration) frame() *frame { return &frame{loops: d.loops, owner: d, mayNeedAnswer: true} }

// expand evaluates the bodies and dependencies of all resources.
func (s *scope) expand() {
	for _, d := range s.declared {
		if s.exhausted {
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
			d.s.reportError(d.node, err)
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
		if strings.HasPrefix(m.Name, "@") { // options for the deployment engine: the provider must not get one as a property
			s.keyFault(d.node, m, "a resource has no member '%s'%s", m.Name, s.suggestName(m.Name, []string{"@options"}))
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
