package clients

import (
	"path/filepath"
	"strings"
	"testing"

	"portico/test/harness"
)

func tags(t *testing.T, c azure) {
	const on = `--resource-id $S/resourceGroups/tagged/providers/Contoso.Compute/virtualMachines/vm `
	c.play(t,
		step{command: `group create -n tagged -l westus --query name`, prints: `"tagged"`},
		step{command: `resource create -g tagged -n vm ` + machines + `-p {} -l eastus --query name`, prints: `"vm"`},
		step{
			command: `tag create ` + on + `--tags a=1 b=2 --query [name,type,properties.tags]`,
			prints:  `["default","Microsoft.Resources/tags",{"a":"1","b":"2"}]`,
		},
		step{command: `tag list ` + on + `--query properties.tags`, prints: `{"a":"1","b":"2"}`},
		step{command: `tag update ` + on + `--operation Merge --tags c=3 --query properties.tags`, prints: `{"a":"1","b":"2","c":"3"}`},
		step{command: `tag update ` + on + `--operation Delete --tags a=1 --query properties.tags`, prints: `{"b":"2","c":"3"}`},
		step{command: `tag update ` + on + `--operation Replace --tags only=1 --query properties.tags`, prints: `{"only":"1"}`},
		step{command: `resource show -g tagged -n vm ` + machines + `--query tags`, prints: `{"only":"1"}`},
		step{command: `tag delete --yes ` + on},
		step{command: `tag list ` + on + `--query properties.tags`, prints: `{}`},
		step{command: `tag create --resource-id $S/resourceGroups/tagged --tags g=1 --query properties.tags`, prints: `{"g":"1"}`},
		step{command: `group show -n tagged --query tags`, prints: `{"g":"1"}`},
	)
}

func locks(t *testing.T, c azure) {
	const vm = `$S/resourceGroups/locked/providers/Contoso.Compute/virtualMachines/vm`
	c.play(t,
		step{command: `group create -n locked -l westus --query name`, prints: `"locked"`},
		step{command: `resource create -g locked -n vm ` + machines + `-p {} -l eastus --query name`, prints: `"vm"`},
		step{
			command: `lock create -g locked -n keep --lock-type CanNotDelete --notes why --query [name,level,notes,type,id]`,
			prints:  `["keep","CanNotDelete","why","Microsoft.Authorization/locks","$S/resourceGroups/locked/providers/Microsoft.Authorization/locks/keep"]`,
		},
		step{command: `resource lock create -g locked -n still --lock-type ReadOnly --resource-name vm ` + machines + `--query [name,level]`, prints: `["still","ReadOnly"]`},
		step{command: `lock list -g locked --query [].name`, prints: `["keep","still"]`},
		step{command: `group lock list -g locked --query [].name`, prints: `["keep","still"]`},
		step{command: `resource lock list -g locked --resource-name vm ` + machines + `--query [].name`, prints: `["still"]`},
		step{command: `lock show -g locked -n keep --query level`, prints: `"CanNotDelete"`},
		step{command: `lock show -g locked -n other`, says: `(LockNotFound) The lock 'other' could not be found.`, code: 3},
		step{command: `lock update -g locked -n keep --notes because --query [level,notes]`, prints: `["CanNotDelete","because"]`},
		step{
			command: `resource tag --ids ` + vm + ` --tags a=b`, code: 1,
			says: `(ScopeLocked) The scope '` + vm + `' cannot perform write operation because following scope(s) are locked: '` + vm + `'. Please remove the lock and try again.`,
		},
		step{
			command: `group delete -n locked --yes`, code: 1,
			says: `(ScopeLocked) The scope '$S/resourcegroups/locked' cannot perform delete operation because following scope(s) are locked: '$S/resourceGroups/locked,` + vm + `'. Please remove the lock and try again.`,
		},
		step{command: `resource delete --ids ` + vm, says: `Some resources failed to be deleted (run with ` + "`--verbose`" + ` for more information):`, code: 1},
		step{command: `resource lock delete -g locked -n still --resource-name vm ` + machines},
		step{command: `resource tag --ids ` + vm + ` --tags a=b --query tags`, prints: `{"a":"b"}`},
		step{command: `lock delete --ids $S/resourceGroups/locked/providers/Microsoft.Authorization/locks/keep`},
		step{command: `resource delete --ids ` + vm},
		step{command: `group delete -n locked --yes`},
	)
}

// template is one as people have them: no JSON, to begin with.
const template = `{
  // what the site needs
  "$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#",
  "contentVersion": "1.0.0.0",
  "resources": []
}
`

// What concerns a whole subscription no one else may do at the same time.
func TestAzSubscription(t *testing.T) {
	t.Parallel()
	c := signedIn(t, harness.WorldOptions{Config: harness.Config{InsightRegistration: "required"}})
	t.Run("providers", func(t *testing.T) {
		c.play(t,
			step{
				command: `provider list --query [].[namespace,registrationPolicy,registrationState]`,
				prints: `[["Contoso.Compute","RegistrationFree","Registered"],["Contoso.Insight","RegistrationRequired","NotRegistered"],` +
					`["Microsoft.Resources","RegistrationFree","Registered"],["Microsoft.Authorization","RegistrationFree","Registered"],` +
					`["Microsoft.Features","RegistrationFree","Registered"],["Microsoft.Insights","RegistrationFree","Registered"]]`,
			},
			step{command: `provider show -n microsoft.authorization --query resourceTypes[?resourceType=='locks'].defaultApiVersion`, prints: `["2020-05-01"]`},
			step{command: `provider unregister -n Contoso.Insight --wait`}, // which was never registered
			step{command: `provider show -n Contoso.Insight --query registrationState`, prints: `"Unregistered"`},
			step{
				command: `provider show -n Contoso.Compute --query resourceTypes[?resourceType=='virtualMachines'].[apiVersions,defaultApiVersion,locations,capabilities]`,
				prints: `[[["2024-06-01-preview","2024-01-01","2023-01-01"],"2024-01-01",["West US","East US","North Europe"],` +
					`"CrossResourceGroupResourceMove, CrossSubscriptionResourceMove, SupportsTags, SupportsLocation"]]`,
			},
			step{command: `provider show -n Contoso.Nowhere`, says: `(InvalidResourceNamespace) The resource namespace 'Contoso.Nowhere' is invalid.`, code: 3},
			step{command: `provider register -n Contoso.Insight --wait`},
			step{command: `provider show -n Contoso.Insight --query registrationState`, prints: `"Registered"`},
			step{command: `provider unregister -n Contoso.Insight --wait`},
			step{command: `provider show -n Contoso.Insight --query registrationState`, prints: `"Unregistered"`},
			// The CLI registers by itself what a write turns out to need.
			step{command: `group create -n registered -l westus --query name`, prints: `"registered"`},
			step{command: `resource create -g registered -n ws --resource-type Contoso.Insight/workspaces -p {} -l eastus --query name`, prints: `"ws"`},
			step{command: `provider show -n Contoso.Insight --query registrationState`, prints: `"Registered"`},
			step{command: `group delete -n registered --yes`},
		)
	})
	t.Run("operations of providers", func(t *testing.T) {
		c.play(t,
			step{
				command: `provider operation list --query [].name`,
				prints:  `["Contoso.Compute","Contoso.Insight","Microsoft.Resources","Microsoft.Authorization","Microsoft.Features","Microsoft.Insights"]`,
			},
			step{
				command: `provider operation show --namespace Contoso.Compute --query [id,operations[].name,resourceTypes[?name=='virtualMachines'].operations[].[name,displayName,isDataAction][]]`,
				prints: `["/providers/Microsoft.Authorization/providerOperations/Contoso.Compute",["Contoso.Compute/register/action","Contoso.Compute/unregister/action"],` +
					`["Contoso.Compute/virtualMachines/read","Get virtualMachines",false,"Contoso.Compute/virtualMachines/write","Create or update virtualMachines",false,"Contoso.Compute/virtualMachines/delete","Delete virtualMachines",false]]`,
			},
			step{command: `provider operation show --namespace Contoso.Nowhere`, says: `(InvalidResourceNamespace) The resource namespace 'Contoso.Nowhere' is invalid.`, code: 3},
		)
	})
	t.Run("what is out of scope", func(t *testing.T) {
		writeFile(t, filepath.Join(c.dir, "template.json"), template)
		c.play(t, step{command: `group create -n deployed -l westus --query name`, prints: `"deployed"`})
		const (
			file         = ` --template-file template.json`
			noExport     = `The export of groups as templates is out of the scope of this service: export one of their deployments.`
			noSpecs      = `Template specs are out of the scope of this service.`
			noPolicies   = `Policies are out of the scope of this service.`
			noManagement = `Management groups are out of the scope of this service: its scopes are '/', subscriptions, resource groups and resources.`
			noDiagnostic = `Diagnostic settings are out of the scope of this service.`
		)
		// Some of them show the code in front, some the whole error.
		for _, of := range []struct{ command, sentence string }{
			{`group export -n deployed`, noExport},
			{`ts create -g deployed -n spec -v 1 -l westus` + file, noSpecs},
			{`policy assignment list -g deployed`, noPolicies},
			{`policy state summarize`, noPolicies},
			{`account management-group show -n mg`, noManagement},
			{`deployment mg create -m mg -l westus` + file, noManagement},
			{`monitor diagnostic-settings list --resource ` + c.SubscriptionPath() + `/resourceGroups/deployed`, noDiagnostic},
		} {
			o := c.run(t, strings.Fields(of.command)...)
			if o.Code != 1 || o.Stdout != "" || !strings.Contains(o.Stderr, "ResourceTypeNotSupported") || !strings.Contains(o.Stderr, of.sentence) {
				t.Errorf("az %s: exit status %d\n%s%s", of.command, o.Code, o.Stdout, o.Stderr)
			}
		}
		c.play(t, step{command: `group delete -n deployed --yes`})
	})
	t.Run("features", func(t *testing.T) {
		c.play(t,
			step{
				command: `feature list --namespace Contoso.Compute --query [].[name,properties.state]`,
				prints:  `[["Contoso.Compute/bigMachines","NotRegistered"],["Contoso.Compute/tinyMachines","NotRegistered"]]`,
			},
			step{command: `feature list --query length(@)`, prints: `2`},
			step{command: `feature register --namespace Contoso.Compute -n bigMachines --query properties.state`, prints: `"Registered"`},
			step{command: `feature show --namespace Contoso.Compute -n bigMachines --query properties.state`, prints: `"Registered"`},
			step{command: `feature unregister --namespace Contoso.Compute -n bigMachines --query properties.state`, prints: `"NotRegistered"`},
			step{
				command: `feature registration create --namespace Contoso.Compute -n tinyMachines --query [name,type,properties.[providerNamespace,featureName,state,approvalType,tenantId,subscriptionId]]`,
				prints: `["tinyMachines","Microsoft.Features/featureProviders/subscriptionFeatureRegistrations",["Contoso.Compute","tinyMachines","Registered","AutoApproval","` +
					harness.TenantID + `","` + harness.SubscriptionID + `"]]`,
			},
			step{command: `feature registration list --query [].name`, prints: `["tinyMachines"]`},
			step{command: `feature registration list --namespace Contoso.Insight`, prints: `[]`},
			step{command: `feature registration show --provider-namespace Contoso.Compute -n tinyMachines --query properties.state`, prints: `"Registered"`},
			step{command: `feature show --namespace Contoso.Compute -n tinyMachines --query properties.state`, prints: `"Registered"`},
			step{command: `feature registration delete --namespace Contoso.Compute -n tinyMachines --yes`},
			step{
				command: `feature registration show --provider-namespace Contoso.Compute -n tinyMachines`, code: 3,
				says: `(FeatureNotFound) The subscription is not registered for the feature 'Contoso.Compute/tinyMachines'.`,
			},
			step{command: `feature register --namespace Contoso.Compute -n hugeMachines`, says: `(FeatureNotFound) The feature 'hugeMachines' could not be found.`, code: 3},
		)
	})
	t.Run("tags", func(t *testing.T) {
		c.play(t,
			step{command: `tag create -n stage --query [tagName,count.value]`, prints: `["stage",0]`},
			step{command: `tag add-value -n stage --value test --query tagValue`, prints: `"test"`},
			step{command: `group create -n staged -l westus --tags stage=test --query name`, prints: `"staged"`},
			step{command: `tag list --query [].[tagName,count.value,values[].[tagValue,count.value]]`, prints: `[["stage",1,[["test",1]]]]`},
			step{command: `group delete -n staged --yes`},
			step{command: `tag remove-value -n stage --value test`},
			step{command: `tag delete -n stage --yes`},
			step{command: `tag list`, prints: `[]`},
			step{command: `tag create --resource-id $S --tags cost=1 --query [id,properties.tags]`, prints: `["$S/providers/Microsoft.Resources/tags/default",{"cost":"1"}]`},
			step{command: `tag list --resource-id $S --query properties.tags`, prints: `{"cost":"1"}`},
			step{command: `tag delete --resource-id $S --yes`},
		)
	})
	t.Run("locks", func(t *testing.T) {
		c.play(t,
			step{command: `group create -n kept -l westus --query name`, prints: `"kept"`},
			step{command: `account lock create -n all --lock-type CanNotDelete --query [level,id]`, prints: `["CanNotDelete","$S/providers/Microsoft.Authorization/locks/all"]`},
			step{command: `account lock list --query [].name`, prints: `["all"]`},
			step{
				command: `group delete -n kept --yes`, code: 1,
				says: `(ScopeLocked) The scope '$S/resourcegroups/kept' cannot perform delete operation because following scope(s) are locked: '$S'. Please remove the lock and try again.`,
			},
			step{command: `account lock delete -n all`},
			step{command: `group delete -n kept --yes`},
			step{command: `lock list`, prints: `[]`},
		)
	})
}
