package template

import (
	"strings"

	"portico/template/expr"
)

// object builds an object from alternating names and values.
func object(pairs ...any) expr.Value {
	members := make([]expr.Member, 0, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		v, isValue := pairs[i+1].(expr.Value)
		if !isValue {
			v = expr.StringOf(pairs[i+1].(string))
		}
		members = append(members, expr.Member{Name: pairs[i].(string), Value: v})
	}
	return expr.ObjectOf(members...)
}

func (s *scope) deployerValue() (expr.Value, error) {
	if !s.in.Deployer.Is(expr.Null) {
		return s.in.Deployer, nil
	}
	return object("objectId", zeroUUID, "tenantId", s.at.Tenant, "userPrincipalName", "deployer@example.com"), nil
}

const zeroUUID = "00000000-0000-0000-0000-000000000000"

// tenantValue returns tenant(). Portico knows neither names nor countries of tenants.
func (s *scope) tenantValue() (expr.Value, error) {
	return object("id", "/tenants/"+s.at.Tenant, "tenantId", s.at.Tenant), nil
}

// subscriptionsVersion is the api-version of questions about subscriptions.
const subscriptionsVersion = "2022-12-01"

// subscriptionValue returns subscription(). For a subscription other than the deployment's own, the
// display name is Pending.
func (s *scope) subscriptionValue() (expr.Value, error) {
	id := "/subscriptions/" + s.at.Subscription
	if own, _ := s.in.Subscription.Member("id"); strings.EqualFold(own.Text(), id) {
		return s.in.Subscription, nil
	}
	name := expr.StringOf("subscription")
	if !s.in.Subscription.Is(expr.Null) || !strings.EqualFold(s.at.Subscription, s.in.Scope.Subscription) {
		name = expr.PendingOf(expr.PropertyOf(scopeReference(id, subscriptionsVersion), "displayName"))
	}
	return object("id", id, "subscriptionId", s.at.Subscription, "tenantId", s.at.Tenant, "displayName", name), nil
}

// scopeReference returns the call that reads a group or a subscription.
func scopeReference(id, version string) expr.Node {
	return expr.Invoke("reference", expr.StringOf(id), expr.StringOf(version), expr.StringOf("Full"))
}

// groupsVersion is the api-version of questions about groups.
const groupsVersion = "2021-04-01"

// groupValue returns resourceGroup(). For a group other than the deployment's own, the members that
// its ID does not give are Pending.
func (s *scope) groupValue() (expr.Value, error) {
	if s.at.Group == "" {
		return expr.Value{}, expr.Errorf("it is not available in deployments to subscriptions")
	}
	id := s.at.ID()
	own := strings.EqualFold(id, s.in.Scope.ID())
	if own && !s.in.Group.Is(expr.Null) {
		return s.in.Group, nil
	}
	if own {
		return groupOf(s.at, func(name string) expr.Value {
			return map[string]expr.Value{"location": expr.StringOf(s.in.Location), "tags": expr.ObjectOf()}[name]
		}), nil
	}
	return groupOf(s.at, func(name string) expr.Value { return s.groupMember(id, name) }), nil
}

// groupLacks returns the reason, for error messages, if resourceGroup() has only the members that
// the group's ID gives.
func (s *scope) groupMissingReason() string {
	if _, read := s.in.Group.Member("location"); read || s.in.Group.Is(expr.Null) {
		return ""
	}
	return "the others need the action 'Microsoft.Resources/subscriptions/resourceGroups/read' at '" + s.in.Scope.ID() + "', which the caller may not perform"
}

// groupOf builds a group from its ID and the members that member returns. managedBy is absent if it
// is null.
func groupOf(at expr.Scope, member func(name string) expr.Value) expr.Value {
	members := object("id", at.ID(), "name", at.Group, "type", "Microsoft.Resources/resourceGroups", "location", member("location")).Members()
	if manager := member("managedBy"); !manager.Is(expr.Null) {
		members = append(members, expr.Member{Name: "managedBy", Value: manager})
	}
	return expr.ObjectOf(append(members, object("tags", member("tags"), "properties", object("provisioningState", "Succeeded")).Members()...)...)
}

// groupReference returns a group's member as a Pending value. managedBy becomes null if the group
// has none, as most do.
func groupReference(id, name string) expr.Value {
	group := scopeReference(id, groupsVersion)
	if name == "managedBy" {
		return expr.PendingOf(expr.Invoke("tryGet", expr.PendingOf(group), expr.StringOf(name)))
	}
	return expr.PendingOf(expr.PropertyOf(group, name))
}

// groupMember returns a member of another group: from its declaration in an enclosing template if
// there is one, otherwise as a Pending value.
func (s *scope) groupMember(id, name string) expr.Value {
	for around := s; around.parent != nil; {
		around = around.parent.s
		for _, d := range around.resourcesNamed(id) {
			n := d.node.Member(name)
			if n == nil || d.existing || d.skipped || d.broken {
				continue
			}
			if v, ok := d.s.evaluate(n, d.frame()); ok {
				return v
			}
		}
	}
	return groupReference(id, name)
}

// environmentValue returns environment(), by default with the public cloud's values: templates use it for
// suffixes of host names.
func (s *scope) environmentValue() (expr.Value, error) {
	if !s.in.Environment.Is(expr.Null) {
		return s.in.Environment, nil
	}
	return object("name", "AzureCloud",
		"gallery", "https://gallery.azure.com/", "graph", "https://graph.windows.net/", "portal", "https://portal.azure.com",
		"graphAudience", "https://graph.windows.net/", "activeDirectoryDataLake", "https://datalake.azure.net/",
		"batch", "https://batch.core.windows.net/", "media", "https://rest.media.azure.net",
		"sqlManagement", "https://management.core.windows.net:8443/",
		"vmImageAliasDoc", "https://raw.githubusercontent.com/Azure/azure-rest-api-specs/master/arm-compute/quickstart-templates/aliases.json",
		"resourceManager", "https://management.azure.com/",
		"authentication", object("loginEndpoint", "https://login.microsoftonline.com/",
			"audiences", expr.ArrayOf(expr.StringOf("https://management.core.windows.net/"), expr.StringOf("https://management.azure.com/")),
			"tenant", "common", "identityProvider", "AAD"),
		"suffixes", object("acrLoginServer", ".azurecr.io", "azureDatalakeAnalyticsCatalogAndJob", "azuredatalakeanalytics.net",
			"azureDatalakeStoreFileSystem", "azuredatalakestore.net", "azureFrontDoorEndpointSuffix", "azurefd.net",
			"keyvaultDns", ".vault.azure.net", "sqlServerHostname", ".database.windows.net", "storage", "core.windows.net")), nil
}
