package routing

import (
	"strings"

	"portico/arm"
	"portico/regions"
)

// outOfScope lists what clients of Azure request and this service does not have: the
// beginning of a type, after its namespace, and the sentence of the refusal. A namespace
// without a type stands for all of its types, and anyNamespace for each namespace.
// Without a namespace, the type is the first segment below the subscription or group of
// a route without a provider. The first matching row counts.
var outOfScope = [...]struct{ prefix, sentence string }{
	{"Microsoft.Resources/deploymentScripts", "Deployment scripts are out of the scope of this service."}, // before its prefixes
	{"Microsoft.Resources/deploymentStacks", "Deployment stacks are out of the scope of this service."},
	{"Microsoft.Resources/templateSpecs", "Template specs are out of the scope of this service."},
	{"Microsoft.Resources/links", "Resource links are out of the scope of this service."},
	{"Microsoft.Resources/checkZonePeers", "Peers of availability zones are out of the scope of this service."},
	{anyNamespace + "/providerPermissions", "Permissions of resource providers are out of the scope of this service."},
	{"/exportTemplate", "The export of groups as templates is out of the scope of this service: export one of their deployments."},
	{"Microsoft.Authorization/policy", noPolicies},
	{"Microsoft.Authorization/dataPolicyManifests", noPolicies},
	{"Microsoft.PolicyInsights/", noPolicies},
	{"Microsoft.Authorization/roleEligibilitySchedule", noPrivileges},
	{"Microsoft.Authorization/roleAssignmentSchedule", noPrivileges},
	{"Microsoft.Authorization/roleAssignmentApproval", noPrivileges},
	{"Microsoft.Authorization/roleManagement", noPrivileges},
	{"Microsoft.Authorization/eligibleChildResources", noPrivileges},
	{"Microsoft.Authorization/accessReview", noPrivileges},
	{"Microsoft.Quota/", noQuotas},
	{"Microsoft.Capacity/resourceProviders", noQuotas}, // older
	{"Microsoft.Subscription/", "The creation, renaming and cancellation of subscriptions are out of the scope of this service: its operators do that."},
	{"Microsoft.Management/", "Management groups are out of the scope of this service: its scopes are '/', subscriptions, resource groups and resources."},
	{"Microsoft.ResourceGraph/", "Resource Graph is out of the scope of this service: list resources at '/subscriptions/{subscriptionId}/resources'."},
	{"Microsoft.Graph/", noGraph},
	{"/v1.0", noGraph},
	{"/beta", noGraph},
	{"Microsoft.Insights/diagnosticSettings", "Diagnostic settings are out of the scope of this service."},
	{"Microsoft.Insights/metricAlerts", noAlerts}, // before the other types that begin with metric
	{"Microsoft.Insights/metric", "Metrics are out of the scope of this service."},
	{"Microsoft.Insights/alertRules", noAlerts},
	{"Microsoft.Insights/scheduledQueryRules", noAlerts},
	{"Microsoft.Insights/activityLogAlerts", noAlerts},
	{"Microsoft.Insights/actionGroups", noAlerts},
	{"Microsoft.AlertsManagement/", noAlerts},
}

// anyNamespace stands for every namespace in a row of outOfScope. No
// namespace has this name.
const anyNamespace = "*"

const (
	noPolicies   = "Policies are out of the scope of this service."
	noPrivileges = "Privileged identity management is out of the scope of this service: assign roles by 'Microsoft.Authorization/roleAssignments'."
	noQuotas     = "Quotas of resource providers are out of the scope of this service."
	noAlerts     = "Alert rules, and what they call, are out of the scope of this service."
	noGraph      = "Microsoft Graph is out of the scope of this service: users, groups and applications are those of the issuer."
)

// OutOfScope refuses a request for something that this service does not have, judging
// only by the types in its path. Types declared in the map belong to providers.
func (r *Request) OutOfScope(m *regions.Map) *arm.Error {
	if i, below := r.Path.Own(); below {
		return refuseOutOfScope("", r.Path.Segment(i), nil)
	}
	if r.Type != nil && r.Path.Hops() == 1 {
		return nil
	}
	for i := range r.Path.Hops() {
		hop, first := r.Path.Hop(i), ""
		if hop.Len() > 0 {
			first = hop.Segment(0)
		}
		if fault := refuseOutOfScope(hop.Namespace(), first, m.Provider(hop.Namespace())); fault != nil {
			return fault
		}
	}
	return r.deploymentOutOfScope()
}

// deploymentOutOfScope refuses deployments at scopes that have none, and data
// about deployments that is not kept.
func (r *Request) deploymentOutOfScope() *arm.Error {
	if r.Path.Hops() == 0 {
		return nil
	}
	hop := r.Path.LastHop()
	if hop.Len() == 0 || !arm.EqualFold(hop.Namespace(), "Microsoft.Resources") || !arm.EqualFold(hop.Segment(0), "deployments") {
		return nil
	}
	if hop.Len() == 3 && arm.EqualFold(hop.Segment(2), "listOutputsWithSecureValues") {
		return arm.NewError(arm.ResourceTypeNotSupported,
			"Secure outputs of deployments are not kept: they are for the template alone that holds the deployment.").WithTarget("resourceType")
	}
	if r.Path.Subscription() != "" && r.Path.Hops() == 1 {
		return nil
	}
	return arm.NewError(arm.ResourceTypeNotSupported,
		"Deployments to management groups and tenants are out of the scope of this service: deploy to subscriptions and resource groups.").WithTarget("resourceType")
}

// refuseOutOfScope refuses a type unless its provider declares it; provider
// is nil if the map lacks it.
func refuseOutOfScope(namespace, first string, provider *regions.Provider) *arm.Error {
	for _, row := range &outOfScope {
		ns, typeName, _ := strings.Cut(row.prefix, "/")
		fits := arm.EqualFold(ns, namespace) || ns == anyNamespace && namespace != ""
		if !fits || len(first) < len(typeName) || !arm.EqualFold(first[:len(typeName)], typeName) {
			continue
		}
		if provider != nil && (typeName == "" || provider.TypeNamed(first) != nil) {
			return nil
		}
		return arm.NewError(arm.ResourceTypeNotSupported, row.sentence).WithTarget("resourceType")
	}
	return nil
}
