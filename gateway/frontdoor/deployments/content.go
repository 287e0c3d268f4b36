// Package deployments serves the routes of template deployments: it reads a client's
// request, starts the job that runs the deployment, and answers what-if and validate
// without changing anything.
package deployments

import (
	"slices"
	"strings"

	"portico/arm"
	"portico/jobs/deploy"
	"portico/template"
	"portico/template/document"
	"portico/template/expr"
)

// Content is what a client sends for a deployment. Its nodes are places of what was sent.
type Content struct {
	Location  string // empty at a resource group
	Complete  bool   // the mode: what the template lacks is deleted
	Template  *document.Node
	Arguments []template.Argument
	Tags      map[string]string // of the deployment, not of its resources
	IDsOnly   bool              // of a what-if: it answers no payloads
	deploy.Settings
}

// tagLimit is how many tags a deployment may have.
const tagLimit = 50

// unsupported are members of a deployment that are refused by name.
var unsupported = [...]struct{ member, sentence string }{
	{"templateLink", "links to templates are not supported: send the template itself"},
	{"parametersLink", "links to parameters are not supported: send the parameters themselves"},
	{"onErrorDeployment", "going back to an earlier deployment is not supported: deploy its template again"},
	{"externalInputs", "external inputs are not supported: send the parameters' values"},
}

// Read reads the content of a deployment of a name to a scope. It is JSON as az sends it:
// with comments, unquoted names and line breaks in strings. Faults say path, line and
// column in it.
func Read(content []byte, name string, scope expr.Scope) (*Content, *arm.Error) {
	if fault := checkName(name); fault != nil {
		return nil, fault
	}
	d, faults := document.Read(content, document.Relaxed, template.Code)
	if len(faults) > 0 {
		return nil, deploy.Refusal(faults)
	}
	if !d.Root.Is(expr.Object) {
		return nil, refusalAt(d.Root, "a deployment is an object, and this is %s", d.Root.Value.Kind())
	}
	properties := d.Root.Member("properties")
	if faults = append(d.Root.Alike(template.Code), properties.Alike(template.Code)...); len(faults) > 0 {
		return nil, deploy.Refusal(faults)
	}
	if !properties.Is(expr.Object) {
		return nil, refusalAt(d.Root, "a deployment has an object 'properties'")
	}
	c := &Content{Location: arm.Location(d.Root.Member("location").Text())}
	if fault := c.checkLocation(name, scope); fault != nil {
		return nil, fault
	}
	if fault := c.readTags(d.Root.Member("tags")); fault != nil {
		return nil, fault
	}
	for _, u := range unsupported {
		if n := properties.Member(u.member); n != nil {
			return nil, refusalAt(n, "%s", u.sentence)
		}
	}
	if c.Template, c.Arguments, faults = deploy.Read(properties); len(faults) > 0 {
		return nil, deploy.Refusal(faults)
	}
	if c.Template == nil {
		return nil, refusalAt(properties, "a deployment has an object 'template'")
	}
	if fault := c.readMode(properties, scope); fault != nil {
		return nil, fault
	}
	if fault := c.readSettings(properties); fault != nil {
		return nil, fault
	}
	c.IDsOnly = strings.EqualFold(properties.Member("whatIfSettings").Member("resultFormat").Text(), "ResourceIdOnly")
	return c, nil
}

func checkName(name string) *arm.Error {
	if arm.ValidDeploymentName(name) {
		return nil
	}
	return arm.NewError(arm.InvalidDeployment, name, "its name "+arm.DeploymentNames).About("name")
}

// checkLocation: a deployment at a subscription has a location, one at a group has the
// group's.
func (c *Content) checkLocation(name string, scope expr.Scope) *arm.Error {
	switch {
	case scope.Group == "" && c.Location == "":
		return arm.NewError(arm.InvalidDeployment, name, "at a subscription it has a 'location'").About("location")
	case scope.Group != "" && c.Location != "":
		return arm.NewError(arm.InvalidDeployment, name, "at a resource group it has no 'location', as its group has one").About("location")
	}
	return nil
}

func (c *Content) readTags(n *document.Node) *arm.Error {
	if n == nil {
		return nil
	}
	if !n.Is(expr.Object) {
		return refusalAt(n, "the tags of a deployment are an object")
	}
	c.Tags = map[string]string{}
	for _, m := range n.Members {
		if !m.Node.Is(expr.String) {
			return refusalAt(m.Node, "the value of a tag is a string")
		}
		c.Tags[m.Name] = m.Node.Text()
	}
	return arm.CheckTags(c.Tags, tagLimit)
}

func (c *Content) readMode(properties *document.Node, scope expr.Scope) *arm.Error {
	mode := properties.Member("mode")
	switch {
	case mode == nil:
		return refusalAt(properties, "a deployment has a 'mode': 'Incremental' or 'Complete'")
	case strings.EqualFold(mode.Text(), "Complete") && scope.Group == "":
		return refusalAt(mode, "a deployment at a subscription is 'Incremental'")
	case strings.EqualFold(mode.Text(), "Complete"):
		c.Complete = true
	case !strings.EqualFold(mode.Text(), "Incremental"):
		return refusalAt(mode, "a deployment's mode is 'Incremental' or 'Complete'")
	}
	return nil
}

// The levels to which a deployment is judged ahead: the template alone, or all that judges
// say of its resources, whether its caller may write them or may only read there.
const (
	ofTemplate  = "Template"
	ofProviders = "Provider"
	withoutRbac = "ProviderNoRbac"
)

// readSettings reads the validation level, and what the debugSetting asks for, which is shown
// again and changes nothing.
func (c *Content) readSettings(properties *document.Node) *arm.Error {
	if n := properties.Member("validationLevel"); n != nil {
		if c.ValidationLevel = spelled(n.Text(), ofTemplate, ofProviders, withoutRbac); c.ValidationLevel == "" {
			return refusalAt(n, "a deployment's validationLevel is 'Template', 'Provider' or 'ProviderNoRbac'")
		}
	}
	n := properties.Member("debugSetting").Member("detailLevel")
	if n == nil {
		return nil
	}
	for level := range strings.SplitSeq(n.Text(), ",") {
		if spelled(strings.TrimSpace(level), "none", "requestContent", "responseContent") == "" {
			return refusalAt(n, "a deployment's detailLevel is 'none', 'requestContent', 'responseContent', or the last two separated by a comma")
		}
	}
	c.DebugSetting = &deploy.DebugSetting{DetailLevel: n.Text()}
	return nil
}

// spelled is a word among those given, in their spelling; "" if it is none of them.
func spelled(word string, among ...string) string {
	if i := slices.IndexFunc(among, func(other string) bool { return arm.EqualFold(word, other) }); i >= 0 {
		return among[i]
	}
	return ""
}

func refusalAt(n *document.Node, format string, args ...any) *arm.Error {
	return deploy.Refusal([]*document.Fault{n.Fault(template.Code, format, args...)})
}
