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

// Content is the content of a deployment request. Its nodes are parts of the request's
// JSON.
type Content struct {
	Location  string // empty at a resource group
	Complete  bool   // the mode: resources that the template lacks are deleted
	Template  *document.Node
	Arguments []template.Argument
	Tags      map[string]string // of the deployment, not of its resources
	IDsOnly   bool              // for a what-if: it returns no payloads
	deploy.Settings
}

const tagLimit = 50

// unsupported are members of a deployment that are refused by name.
var unsupported = [...]struct{ member, sentence string }{
	{"templateLink", "links to templates are not supported: send the template itself"},
	{"parametersLink", "links to parameters are not supported: send the parameters themselves"},
	{"onErrorDeployment", "going back to an earlier deployment is not supported: deploy its template again"},
	{"externalInputs", "external inputs are not supported: send the parameters' values"},
}

// Read reads the content of a request for a deployment at a scope. It accepts JSON as az
// sends it: with comments, unquoted names and line breaks in strings. Faults contain
// path, line and column.
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
	if faults = append(d.Root.NameClashes(template.Code), properties.NameClashes(template.Code)...); len(faults) > 0 {
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
	return arm.NewError(arm.InvalidDeployment, name, "its name "+arm.DeploymentNames).WithTarget("name")
}

// checkLocation requires a location of a deployment at a subscription, and refuses one at
// a group, which has its own.
func (c *Content) checkLocation(name string, scope expr.Scope) *arm.Error {
	switch {
	case scope.Group == "" && c.Location == "":
		return arm.NewError(arm.InvalidDeployment, name, "at a subscription it has a 'location'").WithTarget("location")
	case scope.Group != "" && c.Location != "":
		return arm.NewError(arm.InvalidDeployment, name, "at a resource group it has no 'location', as its group has one").WithTarget("location")
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

// The validation levels of a deployment: only the template, all checks of its resources,
// or all checks but that the caller needs only read access.
const (
	levelTemplate       = "Template"
	levelProvider       = "Provider"
	levelProviderNoRBAC = "ProviderNoRbac"
)

// readSettings reads the validation level, and the debugSetting, which is returned to
// clients and has no effect.
func (c *Content) readSettings(properties *document.Node) *arm.Error {
	if n := properties.Member("validationLevel"); n != nil {
		if c.ValidationLevel = canonicalWord(n.Text(), levelTemplate, levelProvider, levelProviderNoRBAC); c.ValidationLevel == "" {
			return refusalAt(n, "a deployment's validationLevel is 'Template', 'Provider' or 'ProviderNoRbac'")
		}
	}
	n := properties.Member("debugSetting").Member("detailLevel")
	if n == nil {
		return nil
	}
	for level := range strings.SplitSeq(n.Text(), ",") {
		if canonicalWord(strings.TrimSpace(level), "none", "requestContent", "responseContent") == "" {
			return refusalAt(n, "a deployment's detailLevel is 'none', 'requestContent', 'responseContent', or the last two separated by a comma")
		}
	}
	c.DebugSetting = &deploy.DebugSetting{DetailLevel: n.Text()}
	return nil
}

// canonicalWord returns the given word in the spelling of among; "" if it is not there.
func canonicalWord(word string, among ...string) string {
	if i := slices.IndexFunc(among, func(other string) bool { return arm.EqualFold(word, other) }); i >= 0 {
		return among[i]
	}
	return ""
}

func refusalAt(n *document.Node, format string, args ...any) *arm.Error {
	return deploy.Refusal([]*document.Fault{n.Fault(template.Code, format, args...)})
}
