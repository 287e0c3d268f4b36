package clients

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"portico/test/harness"
)

// deployments are what people do with templates, as a compiler writes them: a network with
// dependants by copy, nested modules, and resources that exist and are read.
func deployments(t *testing.T, c azure) {
	for _, name := range []string{"network", "modules", "existing"} {
		writeFile(t, filepath.Join(c.dir, name+".json"), harness.Template(t, name))
	}
	writeFile(t, filepath.Join(c.dir, "empty.json"), `{"$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#", "contentVersion": "1.0.0.0", "resources": []}`)
	const (
		network = ` -f network.json -p prefix=net addresses=2`
		// existing reads what network makes.
		existing = ` -f existing.json -p network=net location=eastus`
		shown    = ` --query [name,properties.provisioningState,properties.mode]`
		machine  = `$S/resourceGroups/deployed/providers/Contoso.Compute/virtualMachines/net-0`
	)
	c.play(t,
		step{command: `group create -n deployed -l westus --query name`, prints: `"deployed"`},
		step{command: `deployment group list -g deployed`, prints: `[]`},
		step{command: `deployment group validate -g deployed -n first` + network + ` --query properties.provisioningState`, prints: `"Succeeded"`},
		step{command: `deployment group show -g deployed -n first`, says: `(DeploymentNotFound) Deployment 'first' could not be found.`, code: 3},
		step{command: `deployment group create -g deployed -n first` + network + shown, prints: `["first","Succeeded","Incremental"]`},
		step{command: `deployment group list -g deployed --query [].name`, prints: `["first"]`},
		step{command: `deployment group show -g deployed -n first` + shown, prints: `["first","Succeeded","Incremental"]`},
		step{command: `resource show --ids ` + machine + ` --query location`, prints: `"westus"`},
		step{
			command: `deployment group what-if -g deployed -n first --no-pretty-print` + network + ` --query [status,changes[?changeType!='NoChange']]`,
			prints:  `["Succeeded",[]]`,
		},
		step{
			command: `deployment group what-if -g deployed -n first --no-pretty-print -f network.json -p prefix=net addresses=3 --query changes[?changeType!='NoChange'].[changeType,after.name]`,
			prints:  `[["Create","net/ip2"]]`,
		},
		step{
			command: `deployment operation group list -g deployed -n first --query [?ends_with(properties.targetResource.id,'/net-0')].properties.[provisioningOperation,provisioningState,statusCode]`,
			prints:  `[["Create","Succeeded","Created"]]`,
		},
		step{command: `deployment group export -g deployed -n first`, prints: compact(t, harness.Template(t, "network"))},
		step{
			command: `deployment group cancel -g deployed -n first`, code: 1,
			says: `(DeploymentNotRunning) The deployment 'first' cannot be canceled: it is not running, its state is 'Succeeded'.`,
		},
		step{
			command: `group export -n deployed`, code: 1,
			says: `(ResourceTypeNotSupported) The export of groups as templates is out of the scope of this service: export one of their deployments.`,
		},
		step{
			command: `deployment group what-if -g deployed -n reads --no-pretty-print` + existing + ` --query changes[?changeType!='Ignore'].[changeType,after.name]`,
			prints:  `[["Create","net-logs"],["Create","watch"]]`,
		},
		step{
			command: `deployment group create -g deployed -n reads` + existing + ` --query properties.[provisioningState,outputs]`,
			prints:  `["Succeeded",{"key":{"type":"SecureString"},"keyName":{"type":"String","value":"primary"},"machineIn":{"type":"String","value":"westus"}}]`,
		},
		step{command: `resource show --ids $S/resourceGroups/deployed/providers/Contoso.Insight/workspaces/net-logs --query [location,tags.machineIn,properties.addressSpace]`, prints: `["eastus","westus","10.0.0.0/16"]`},
		step{
			command: `deployment group what-if -g deployed -n reads --no-pretty-print` + existing + ` --query changes[?changeType!='Ignore'&&changeType!='NoChange']`,
			prints:  `[]`,
		},
		step{command: `deployment group create -g deployed -n modules -f modules.json` + shown, prints: `["modules","Succeeded","Incremental"]`},
	)
	// An operation is shown by the id that the list has.
	ids := decoded[[]string](t, c.do(t, strings.Fields(`deployment operation group list -g deployed -n first --query [?ends_with(properties.targetResource.id,'/net-0')].operationId`)...))
	c.play(t,
		step{
			command: `deployment operation group show -g deployed -n first --operation-ids ` + strings.Join(ids, " ") + ` --query [].properties.[provisioningOperation,provisioningState,targetResource.id]`,
			prints:  `[["Create","Succeeded","` + machine + `"]]`,
		},
		step{command: `deployment group delete -g deployed -n first`},
		step{command: `deployment group list -g deployed --query [?name=='first']`, prints: `[]`},
		step{command: `deployment group create -g deployed -n emptied -f empty.json --mode Complete` + shown, prints: `["emptied","Succeeded","Complete"]`},
		step{command: `resource list -g deployed`, prints: `[]`},
		step{command: `deployment sub create -l westus -n whole -f empty.json` + shown, prints: `["whole","Succeeded","Incremental"]`},
		step{command: `deployment sub show -n whole --query location`, prints: `"westus"`},
		step{command: `deployment sub delete -n whole`},
		step{command: `deployment sub list`, prints: `[]`},
		step{command: `group delete -n deployed --yes`},
	)
}

// failingDeployments are canceled while they run, or have a fault in their template.
func failingDeployments(t *testing.T, c azure) {
	writeFile(t, filepath.Join(c.dir, "network.json"), harness.Template(t, "network"))
	// What its provider refuses for now is tried again, until the deployment is canceled.
	c.Contoso("westus").Do(t, harness.Request{
		Method: http.MethodPost, Path: "/contoso/faults", Body: `{"method":"PUT","pathContains":"/virtualMachines/late-0","fault":"status=503","count":-1}`,
	}).Want(t, 201)
	c.play(t,
		step{command: `group create -n failing -l westus --query name`, prints: `"failing"`},
		step{command: `deployment group create -g failing -n late -f network.json -p prefix=late --no-wait`},
	)
	if running := c.do(t, "deployment", "group", "list", "-g", "failing", "--filter", "provisioningState eq 'Running'", "--query", "[].name"); compact(t, running) != `["late"]` {
		t.Errorf("running: %s", running)
	}
	c.play(t,
		step{command: `deployment group cancel -g failing -n late`},
		step{command: `deployment group wait -g failing -n late --interval 1 --custom properties.provisioningState=='Canceled'`},
		step{command: `deployment group show -g failing -n late --query properties.[provisioningState,error.code]`, prints: `["Canceled","DeploymentCanceled"]`},
		step{command: `group delete -n failing --yes`},
	)
	// A fault says where it is, in what az has sent.
	writeFile(t, filepath.Join(c.dir, "faulty.json"), strings.Replace(harness.Template(t, "network"), `"[length(range(`, `"[lengths(range(`, 1))
	o := c.run(t, strings.Fields(`deployment sub create -l westus -n faulty -f faulty.json`)...)
	if o.Code != 1 || !strings.Contains(o.Stderr, "InvalidTemplate") || !strings.Contains(o.Stderr, "'lengths'") {
		t.Errorf("exit status %d\n%s", o.Code, o.Stderr)
	}
}
