package template

import (
	"cmp"
	"strings"

	"portico/arm"
	"portico/template/expr"
)

// requiredString evaluates a member that must be a non-empty string.
func (d *declaration) requiredString(name string, f *frame) (text string, ok bool) {
	n := d.node.Member(name)
	if n == nil {
		if profile := d.s.template.Member("apiProfile"); profile != nil && name == "apiVersion" {
			d.s.fault(profile, "API profiles are not supported: give each resource its apiVersion")
			return "", false
		}
		d.s.fault(d.node, "the resource lacks its member '%s'", name)
		return "", false
	}
	text, ok = d.optionalString(name, f)
	if ok && text == "" {
		d.s.fault(n, "a resource's %s is a string that is not empty", name)
	}
	return text, ok && text != ""
}

// optionalString evaluates a string member, which may be absent, null or empty.
func (d *declaration) optionalString(name string, f *frame) (text string, ok bool) {
	n := d.node.Member(name)
	if n == nil {
		return "", true
	}
	v, ok := d.s.evaluate(n, f)
	switch {
	case !ok:
		return "", false
	case !v.Known():
		d.s.values.reportUnknown(n, v, "a resource's "+name)
		return "", false
	case !v.Is(expr.String | expr.Null):
		d.s.fault(n, "a resource's %s is a string, and this is %s", name, v.Kind())
		return "", false
	case v.Secure() && (name == "type" || name == "apiVersion"): // logs and answers show both, as they do names
		d.s.fault(n, "a resource's %s cannot be made of a secret", name)
		return "", false
	}
	return v.Text(), true
}

// identify determines the resource's scope and ID.
func (d *declaration) identify(f *frame, parent *declaration) bool {
	s := d.s
	scopeText, scopeOK := d.optionalString("scope", f)
	group, groupOK := d.optionalString("resourceGroup", f)
	subscription, subscriptionOK := d.optionalString("subscriptionId", f)
	if !scopeOK || !groupOK || !subscriptionOK {
		return false
	}
	d.isDeployment = strings.EqualFold(d.kind, deploymentType) && !d.existing
	d.at = s.at
	if subscription != "" {
		d.at = expr.Scope{Tenant: s.at.Tenant, Subscription: subscription}
	}
	if group != "" {
		d.at.Group = group
	}
	base := d.at.ID()
	switch {
	case scopeText != "":
		var ok bool
		if base, ok = d.scopeID(scopeText); !ok {
			return false
		}
	case parent != nil:
		d.at, base = parent.at, strings.TrimSuffix(parent.id, parent.path())
	}
	ok := d.composeID(base)
	if ok && d.isDeployment && !arm.ValidDeploymentName(d.name) {
		s.fault(d.node.Member("name"), "the name of a deployment %s", arm.DeploymentNames)
		return false
	}
	if d.existing {
		return ok // existing resources are not created, so any scope will do
	}
	if why, refused := unsupportedTypes[strings.ToLower(d.kind)]; refused {
		s.fault(d.node.Member("type"), "%s", why)
		return false
	}
	if d.at.Subscription == "" {
		s.fault(cmp.Or(d.node.Member("scope"), d.node), "resources of tenants and management groups are not supported")
		return false
	}
	return ok
}

// scopeID returns the ID that the resource's scope member names, and sets d.at accordingly.
func (d *declaration) scopeID(text string) (string, bool) {
	n := d.node.Member("scope")
	lower := strings.ToLower(text)
	if strings.HasPrefix(lower, "microsoft.management/managementgroups/") {
		text, lower = "/providers/"+text, "/providers/"+lower // an absolute ID, regardless of the deployment's own scope
	}
	switch {
	case text == "/", strings.HasPrefix(lower, "/providers/"):
		d.at = expr.Scope{Tenant: d.s.at.Tenant}
		return strings.TrimRight(text, "/"), true
	case !strings.HasPrefix(text, "/"):
		path, ok := interleave(text, "")
		if !ok {
			d.s.fault(n, "'%s' is no resource's ID, nor a type with a name", text)
			return "", false
		}
		return d.at.ID() + path, true
	}
	segments := strings.Split(strings.Trim(text, "/"), "/")
	if len(segments) < 2 || !strings.EqualFold(segments[0], "subscriptions") {
		d.s.fault(n, "'%s' is no resource's ID", text)
		return "", false
	}
	d.at = expr.Scope{Tenant: d.s.at.Tenant, Subscription: segments[1]}
	if len(segments) >= 4 && strings.EqualFold(segments[2], "resourceGroups") {
		d.at.Group = segments[3]
	}
	return "/" + strings.Join(segments, "/"), true
}

// path returns the part of the ID after the scope.
func (d *declaration) path() string {
	path, _ := interleave(d.kind, d.name)
	return path
}

// composeID sets the resource's ID, given the ID of its scope.
func (d *declaration) composeID(base string) bool {
	switch strings.ToLower(d.kind) {
	case "microsoft.resources/resourcegroups":
		if d.at.Group != "" {
			d.s.fault(d.node, "resource groups are made by deployments to subscriptions, and this one is to a group")
			return false
		}
		d.id = d.at.ID() + "/resourceGroups/" + d.name
		return true
	case strings.ToLower(deploymentType):
		base = d.at.ID()
	}
	path, ok := interleave(d.kind, d.name)
	if !ok {
		d.s.fault(d.node.Member("name"), "the name '%s' must have as many segments as the type '%s' behind its namespace", d.name, d.kind)
		return false
	}
	d.id = base + path
	return true
}

// interleave returns /providers/NAMESPACE/TYPE/NAME/… for a type and a name. If the name is empty,
// kind holds both: NAMESPACE/TYPE/NAME.
func interleave(kind, name string) (string, bool) {
	types := strings.Split(kind, "/")
	if name == "" {
		if len(types) < 3 || len(types)%2 == 0 || !strings.Contains(types[0], ".") {
			return "", false
		}
		return "/providers/" + kind, true
	}
	names := strings.Split(name, "/")
	if len(types)-1 != len(names) || len(types) < 2 {
		return "", false
	}
	path := "/providers/" + types[0]
	for i, name := range names {
		if name == "" || types[i+1] == "" {
			return "", false
		}
		path += "/" + types[i+1] + "/" + name
	}
	return path, true
}
