package function

import (
	"strings"

	"github.com/google/uuid"

	"portico/template/expr"
)

func resourceFunctions() []row {
	text := param("texts", expr.String)
	return []row{
		function("extensionResourceId",
			"The ID of an extension resource: the extended resource's ID, the type, and a name for each segment of the type after its namespace.",
			3, many, extensionResourceID, text),
		function("managementGroupResourceId", "The ID of a resource in a management group: the group's name, the type, and the names.",
			2, many, managementGroupResourceID, text),
		function("resourceId", "The ID of a resource in the deployment's group, or in the subscription and group given first: the type and the "+
			"names.",
			2, many, resourceID, text).anchored(anchorResource),
		function("subscriptionResourceId", "The ID of a resource in the deployment's subscription, or in the one given first: the type and the "+
			"names.",
			2, many, subscriptionResourceID, text).anchored(anchorSubscription),
		function("tenantResourceId", "The ID of a resource in the tenant: the type and the names.", 2, many, tenantResourceID, text),
	}
}

// anchored makes Pending calls keep their own scope.
func (r row) anchored(anchor func(expr.Scope, []expr.Value) []expr.Value) row {
	r.Anchor = anchor
	return r
}

// anchorResource inserts the subscription and the group before the type.
func anchorResource(s expr.Scope, args []expr.Value) []expr.Value {
	scope := []expr.Value{expr.StringOf(s.Subscription), expr.StringOf(s.Group)}
	if s.Group == "" {
		scope = scope[:1]
	}
	switch at := typeAt(args, 1); {
	case at == 0:
		return append(scope, args...)
	case at < 0 || !args[0].Known():
		return args
	}
	if _, err := uuid.Parse(args[0].Text()); err != nil {
		return append(scope[:1], args...)
	}
	return append(append(args[:1:1], scope[1:]...), args[1:]...)
}

func anchorSubscription(s expr.Scope, args []expr.Value) []expr.Value {
	if typeAt(args, 0) == 0 {
		return append([]expr.Value{expr.StringOf(s.Subscription)}, args...)
	}
	return args
}

// typeAt returns the index of the type among the first arguments, or -1 if it is not known.
func typeAt(args []expr.Value, last int) int {
	for i, arg := range args[:min(last+1, len(args))] {
		if arg.Is(expr.String) && strings.Contains(arg.Text(), "/") {
			return i
		}
	}
	return -1
}

// splitAtType splits arguments at the type, the first one with a slash. At most that many arguments
// come before it.
func splitAtType(args []expr.Value, most int) (before []string, kind string, names []string, err error) {
	texts := make([]string, len(args))
	for i, arg := range args {
		texts[i] = arg.Text()
	}
	for i, text := range texts[:min(most+1, len(texts))] {
		if strings.Contains(text, "/") {
			return texts[:i], text, texts[i+1:], nil
		}
	}
	return nil, "", nil, expr.Errorf("a fully qualified resource type, such as Microsoft.Storage/storageAccounts, must be %s", []string{
		"its first argument", "one of its first two arguments", "one of its first three arguments"}[most])
}

// resourceIDBelow returns the ID of a resource in a scope.
func resourceIDBelow(c *expr.Call, scope, kind string, names []string) (expr.Value, error) {
	segments := strings.Split(strings.Trim(kind, "/"), "/")
	if len(names) != len(segments)-1 {
		return expr.Value{}, expr.Errorf("the type '%s' requires '%d' resource name argument(s), and %d are given", kind, len(segments)-1, len(names))
	}
	size := len(scope) + len("/providers/") + len(kind)
	for _, name := range names { // names may be empty, because variables may name unused resources
		size += len(name) + 1
	}
	if err := c.Bytes(size); err != nil {
		return expr.Value{}, err
	}
	var id strings.Builder
	id.WriteString(scope + "/providers/" + segments[0])
	for i, name := range names {
		id.WriteString("/" + segments[i+1] + "/" + name)
	}
	return expr.StringOf(id.String()), nil
}

func isGroup(kind string) bool {
	return strings.EqualFold(strings.Trim(kind, "/"), "Microsoft.Resources/resourceGroups")
}

func subscriptionResourceID(c *expr.Call, args []expr.Value) (expr.Value, error) {
	before, kind, names, err := splitAtType(args, 1)
	if err != nil {
		return expr.Value{}, err
	}
	at := expr.Scope{Subscription: c.Scope.Subscription}
	if len(before) == 1 {
		at.Subscription = before[0]
	}
	return inSubscription(c, at, kind, names)
}

// inSubscription returns the ID of a resource in a subscription, or of a resource group.
func inSubscription(c *expr.Call, at expr.Scope, kind string, names []string) (expr.Value, error) {
	if _, err := uuid.Parse(at.Subscription); err != nil {
		return expr.Value{}, expr.Errorf("the subscription must be a UUID")
	}
	if isGroup(kind) && len(names) == 1 {
		at.Group = names[0]
		return expr.StringOf(at.ID()), c.Bytes(len(at.ID()))
	}
	return resourceIDBelow(c, at.ID(), kind, names)
}

func resourceID(c *expr.Call, args []expr.Value) (expr.Value, error) {
	before, kind, names, err := splitAtType(args, 2)
	if err != nil {
		return expr.Value{}, err
	}
	at := c.Scope
	switch len(before) {
	case 2:
		at.Subscription, at.Group = before[0], before[1]
	case 1:
		if _, err := uuid.Parse(before[0]); err == nil {
			at.Subscription = before[0]
		} else {
			at.Group = before[0]
		}
	}
	if at.Group == "" || isGroup(kind) {
		at.Group = ""
		return inSubscription(c, at, kind, names)
	}
	if _, err := uuid.Parse(at.Subscription); err != nil {
		return expr.Value{}, expr.Errorf("the subscription must be a UUID")
	}
	return resourceIDBelow(c, at.ID(), kind, names)
}

func tenantResourceID(c *expr.Call, args []expr.Value) (expr.Value, error) {
	_, kind, names, err := splitAtType(args, 0)
	if err != nil {
		return expr.Value{}, err
	}
	return resourceIDBelow(c, "", kind, names)
}

func managementGroupResourceID(c *expr.Call, args []expr.Value) (expr.Value, error) {
	before, kind, names, err := splitAtType(args, 1)
	if err != nil {
		return expr.Value{}, err
	}
	if len(before) == 0 {
		return expr.Value{}, expr.Errorf("its first argument must be the name of a management group: the deployment stands in none")
	}
	return resourceIDBelow(c, "/providers/Microsoft.Management/managementGroups/"+before[0], kind, names)
}

func extensionResourceID(c *expr.Call, args []expr.Value) (expr.Value, error) {
	base := args[0].Text()
	if !strings.HasPrefix(base, "/") {
		return expr.Value{}, expr.Errorf("its first argument must be a resource's ID")
	}
	_, kind, names, err := splitAtType(args[1:], 0)
	if err != nil {
		return expr.Value{}, err
	}
	return resourceIDBelow(c, strings.TrimRight(base, "/"), kind, names)
}
