package frontdoor

import (
	"net/http"
	"strings"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/gateway/frontdoor/route"
)

// actions lists the actions on the front door's own resources.
type actions struct{}

// Routes implements Resource.
func (g actions) Routes() []route.Route {
	return []route.Route{{Method: http.MethodGet, Path: "/providers/{ns}/operations", Open: "what roles can allow is no secret", Handle: g.list}}
}

// operationBody is an action in a namespace, by the name that roles have for it.
type operationBody struct {
	Name         string           `json:"name"`
	IsDataAction bool             `json:"isDataAction"`
	Display      operationDisplay `json:"display"`
	Origin       string           `json:"origin"`
}

type operationDisplay struct {
	Provider    string `json:"provider"`
	Resource    string `json:"resource"`
	Operation   string `json:"operation"`
	Description string `json:"description"`
}

// typeActions are the actions on one of Portico's own types. The verb of an action that
// is posted ends in "/action", as in all such names.
type typeActions struct {
	namespace, typeName, label string
	verbs                      []string
}

var (
	reads  = []string{"read"}
	writes = []string{"read", "write", "delete"}
)

// frontDoorActions returns all actions in the namespaces of the front door.
func frontDoorActions() []typeActions {
	return []typeActions{
		{"Microsoft.Resources", "calculateTemplateHash", "template hash", []string{"action"}},
		{"Microsoft.Resources", "changes", "change", reads},
		{"Microsoft.Resources", "checkResourceName", "resource name", []string{"action"}},
		{"Microsoft.Resources", "deployments", "deployment", append(writes, "cancel/action", "exportTemplate/action", "validate/action", "whatIf/action")},
		{"Microsoft.Resources", "deployments/operationStatuses", "deployment operation status", reads},
		{"Microsoft.Resources", "deployments/operations", "deployment operation", reads},
		{"Microsoft.Resources", "providers", "resource provider", reads},
		{"Microsoft.Resources", "subscriptions", "subscription", reads},
		{"Microsoft.Resources", "subscriptions/locations", "location", reads},
		{"Microsoft.Resources", "subscriptions/operationresults", "operation result", reads},
		{"Microsoft.Resources", "subscriptions/providers", "resource provider", reads},
		{"Microsoft.Resources", "subscriptions/resourceGroups", "resource group", append(writes, "moveResources/action", "validateMoveResources/action")},
		{"Microsoft.Resources", "subscriptions/resourceGroups/resources", "resource", reads},
		{"Microsoft.Resources", "subscriptions/resources", "resource", reads},
		{"Microsoft.Resources", "subscriptions/tagNames", "tag name", writes},
		{"Microsoft.Resources", "subscriptions/tagNames/tagValues", "tag value", writes},
		{"Microsoft.Resources", "tags", "tags", writes},
		{"Microsoft.Resources", "tenants", "tenant", reads},
		{"Microsoft.Authorization", "classicAdministrators", "classic administrator", reads},
		{"Microsoft.Authorization", "denyAssignments", "deny assignment", reads},
		{"Microsoft.Authorization", "locks", "management lock", writes},
		{"Microsoft.Authorization", "permissions", "permission", reads},
		{"Microsoft.Authorization", "roleAssignments", "role assignment", writes},
		{"Microsoft.Authorization", "roleDefinitions", "role definition", writes},
		{"Microsoft.Features", "featureProviders/subscriptionFeatureRegistrations", "feature registration", writes},
		{"Microsoft.Features", "features", "feature", reads},
		{"Microsoft.Features", "providers/features", "feature", append(reads, "register/action", "unregister/action")},
		{"Microsoft.Features", "subscriptionFeatureRegistrations", "feature registration", reads},
		{"Microsoft.Insights", "eventtypes/values", "event", reads},
	}
}

func (a typeActions) operation(verb string) operationBody {
	what := map[string]string{"read": "Get", "write": "Create or update", "delete": "Delete", "action": "Check"}[verb]
	if name, posted := strings.CutSuffix(verb, "/action"); posted {
		what = strings.ToUpper(name[:1]) + name[1:] + " of"
	}
	name := a.namespace
	if a.typeName != "" {
		name += "/" + a.typeName
	}
	return operationBody{
		Name: name + "/" + verb, Origin: "user,system",
		Display: operationDisplay{a.namespace, a.label, what + " " + a.label, what + " " + a.label + "."},
	}
}

// list lists the actions in one of Portico's own namespaces.
func (actions) list(w http.ResponseWriter, _ *http.Request, x *exchange.Exchange, _ route.Request) error {
	l := exchange.List{Value: []any{}}
	for _, a := range frontDoorActions() {
		if !arm.EqualFold(a.namespace, x.Request.Path.LastHop().Namespace()) {
			continue
		}
		for _, verb := range a.verbs {
			l.Value = append(l.Value, a.operation(verb))
		}
	}
	return x.Answer(w, http.StatusOK, l)
}
