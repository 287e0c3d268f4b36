package template

import (
	"strings"

	"portico/template/expr"
)

// object is an object of names and values by turns, in order.
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

// tenantValue returns tenant(). Tenants have no names and no countries here.
func (s *scope) tenantValue() (expr.Value, error) {
	return object("id", "/tenants/"+s.at.Tenant, "tenantId", s.at.Tenant), nil
}

// subscriptionsVersion is the api-version by which subscriptions are asked for.
const subscriptionsVersion = "2022-12-01"

// subscriptionValue returns subscription(). The name of another subscription than the
// deployment's own is asked for.
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

// scopeReference asks for a group or a subscription.
func scopeReference(id, version string) expr.Node {
	return expr.Invoke("reference", expr.StringOf(id), expr.StringOf(version), expr.StringOf("Full"))
}

// groupsVersion is the api-version by which groups are asked for.
const groupsVersion = "2021-04-01"

// groupValue is resourceGroup(). Of another group than the deployment's own, what is not
// in its ID is asked for.
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

// groupLacks says why resourceGroup() is what the ID of the group says, and no more.
func (s *scope) groupLacks() string {
	if _, read := s.in.Group.Member("location"); read || s.in.Group.Is(expr.Null) {
		return ""
	}
	return "the others need the action 'Microsoft.Resources/subscriptions/resourceGroups/read' at '" + s.in.Scope.ID() + "', which the caller may not perform"
}

// groupOf is a group whose members are not all in its ID. One that no one manages has no
// managedBy.
func groupOf(at expr.Scope, member func(name string) expr.Value) expr.Value {
	members := object("id", at.ID(), "name", at.Group, "type", "Microsoft.Resources/resourceGroups", "location", member("location")).Members()
	if manager := member("managedBy"); !manager.Is(expr.Null) {
		members = append(members, expr.Member{Name: "managedBy", Value: manager})
	}
	return expr.ObjectOf(append(members, object("tags", member("tags"), "properties", object("provisioningState", "Succeeded")).Members()...)...)
}

// groupReference is a member of a group as the group's own answer has it. Most groups have
// no managedBy, which is null then.
func groupReference(id, name string) expr.Value {
	group := scopeReference(id, groupsVersion)
	if name == "managedBy" {
		return expr.PendingOf(expr.Invoke("tryGet", expr.PendingOf(group), expr.StringOf(name)))
	}
	return expr.PendingOf(expr.PropertyOf(group, name))
}

// groupMember is a member of another group: as a template around declares the group, else
// as the group's own answer has it.
func (s *scope) groupMember(id, name string) expr.Value {
	for around := s; around.parent != nil; {
		around = around.parent.s
		for _, d := range around.named(id) {
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

// environmentValue is that of the public cloud, where no other is given: what templates
// take of it are suffixes of names.
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
