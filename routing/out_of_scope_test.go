package routing

import (
	"testing"

	"portico/arm"
	"portico/regions"
)

// What the map declares is a provider's, whatever else begins so.
func TestDeclaredTypesAreInScope(t *testing.T) {
	declared := func(namespace string, types ...string) regions.ProviderDeclaration {
		p := regions.ProviderDeclaration{Namespace: namespace, Addresses: addresses(t, "all", "westus")}
		for _, name := range types {
			p.Types = append(p.Types, regions.TypeDeclaration{Name: name, Kind: regions.Extension, APIVersions: []string{"2024-01-01"}})
		}
		return p
	}
	m := regions.New(regions.Declaration{
		Regions:   []regions.Region{{Name: "westus"}},
		Providers: []regions.ProviderDeclaration{declared("Microsoft.Insights", "diagnosticSettings", "metrics"), declared("Microsoft.ResourceGraph", "queries")},
	})
	for path, in := range map[string]bool{
		rg + "/providers/Microsoft.Insights/diagnosticSettings/d":                                      true,
		rg + "/providers/microsoft.insights/DIAGNOSTICSETTINGS/d/providers/Microsoft.Insights/metrics": true,
		rg + "/providers/Microsoft.Insights/diagnosticSettingsCategories":                              false,
		"/providers/Microsoft.ResourceGraph/resources":                                                 true,
		"/providers/Microsoft.Management/managementGroups/mg/providers/Microsoft.Insights/metrics/m":   false,
	} {
		r, fault := Classify(m, "GET", path, "api-version=2024-01-01")
		if fault != nil {
			t.Fatal(fault)
		}
		if fault := r.OutOfScope(m); (fault == nil) != in || fault != nil && fault.Code != arm.ResourceTypeNotSupported {
			t.Errorf("%s: %v", path, fault)
		}
	}
}

// Every request is asked, so it costs nothing.
func TestOutOfScopeAllocatesNothing(t *testing.T) {
	m := sample(t)
	for _, path := range []string{vms + "/a", vms + "/a/providers/Microsoft.Authorization/roleAssignments/b", rg + "/resources"} {
		r, fault := Classify(m, "GET", path, "api-version=2024-01-01")
		if fault != nil {
			t.Fatal(fault)
		}
		if n := testing.AllocsPerRun(100, func() { r.OutOfScope(m) }); n != 0 {
			t.Errorf("%s: %v allocations", path, n)
		}
	}
}

// What is out of scope is refused whatever the method, and at every scope.
func TestOutOfScopeAtEveryScope(t *testing.T) {
	m := sample(t)
	types := []string{
		"Microsoft.Resources/deploymentScripts", "Microsoft.Resources/deploymentStacks", "Microsoft.Resources/templateSpecs", "Microsoft.Resources/links",
		"Microsoft.Authorization/policyAssignments", "Microsoft.Authorization/roleEligibilitySchedules", "Microsoft.Authorization/roleEligibilityScheduleInstances",
		"Microsoft.Authorization/roleEligibilityScheduleRequests", "Microsoft.Authorization/roleAssignmentSchedules", "Microsoft.Authorization/roleAssignmentScheduleInstances",
		"Microsoft.Authorization/roleAssignmentScheduleRequests", "Microsoft.Authorization/roleManagementPolicies", "Microsoft.Authorization/roleManagementPolicyAssignments",
		"Microsoft.Quota/quotas", "Microsoft.Quota/quotaRequests", "Microsoft.Subscription/aliases", "Microsoft.Insights/metrics", "Microsoft.Insights/metricAlerts",
		"Microsoft.Insights/alertRules", "Microsoft.AlertsManagement/smartDetectorAlertRules",
	}
	for _, scope := range []string{"", sub, rg, vms + "/a", vms + "/a/providers/Contoso.Insight/diagnosticSettings/d"} {
		for _, name := range types {
			for _, method := range []string{"GET", "HEAD", "PUT", "PATCH", "POST", "DELETE"} {
				for _, path := range []string{scope + "/providers/" + name, scope + "/providers/" + arm.Fold(name) + "/n", scope + "/providers/" + name + "/n/cancel"} {
					r, fault := Classify(m, method, path, "")
					if fault != nil {
						t.Fatal(fault)
					}
					if fault := r.OutOfScope(m); fault == nil || fault.Code != arm.ResourceTypeNotSupported {
						t.Errorf("%s %s: %v", method, path, fault)
					}
				}
			}
		}
	}
	for _, path := range []string{
		rg + "/providers/Microsoft.Authorization/roleAssignments/a", rg + "/providers/Microsoft.Resources/deployments/d", sub + "/providerPermissions",
		sub + "/providers/Microsoft.Insights/eventtypes/management/values", "/providers/Microsoft.Resources",
	} {
		r, fault := Classify(m, "GET", path, "")
		if fault != nil {
			t.Fatal(fault)
		}
		if fault := r.OutOfScope(m); fault != nil {
			t.Errorf("%s: %v", path, fault)
		}
	}
}
