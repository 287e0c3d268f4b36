package clients

import (
	"net/http"
	"strings"
	"testing"

	"portico/test/harness"
)

// spoil has a region's provider answer the next requests of a method, at a path
// that contains this, in its own way.
func (c azure) spoil(t *testing.T, region, method, path, fault string, count string) {
	t.Helper()
	c.Contoso(region).Do(t, harness.Request{
		Method: http.MethodPost, Path: "/contoso/faults",
		Body: `{"method":"` + method + `","pathContains":"` + path + `","fault":"` + fault + `","count":` + count + `}`,
	}).Want(t, 201)
}

// Providers finish later, in every way that the contract has for it, and the
// CLI waits by each of them.
func operations(t *testing.T, c azure) {
	c.play(t, step{command: `group create -n slow -l westus --query name`, prints: `"slow"`})
	for _, row := range []struct{ create, change string }{
		{"state", "location"},
		{"azure-async", "azure-async"},
		{"accepted", "azure-async-only"},
		{"accepted-async", "no-url"},
	} {
		t.Run(row.create+" and "+row.change, func(t *testing.T) {
			t.Parallel()
			c := c.beside(t)
			name := "vm-by-" + row.create
			vm := `-g slow -n ` + name + ` ` + machines
			c.spoil(t, "eastus", "PUT", "/"+name, "async="+row.create+",1", "1")
			c.play(t, step{command: `resource create ` + vm + `-p {"n":1} -l eastus --query [name,properties]`, prints: `["` + name + `",{"n":1,"provisioningState":"Succeeded"}]`})
			c.spoil(t, "eastus", "PATCH", "/"+name, "async="+row.change+",1", "1")
			c.play(t, step{command: `resource tag ` + vm + `--tags a=b --query [tags,properties.provisioningState]`, prints: `[{"a":"b"},"Succeeded"]`})
			if row.change != "no-url" { // how it ended, no one could tell
				c.spoil(t, "eastus", "POST", "/"+name, "async="+row.change+",1", "1")
				if o := c.run(t, strings.Fields(`resource invoke-action --action restart `+vm)...); o.Code != 0 {
					t.Errorf("restart: exit status %d\n%s", o.Code, o.Stderr)
				}
			}
			c.spoil(t, "eastus", "DELETE", "/"+name, "async="+row.change+",1", "1")
			c.play(t, step{command: `resource delete ` + vm})
			c.WantOnlyIn(t, "", c.ResourcePath("slow", "Contoso.Compute/virtualMachines/"+name))
		})
	}
}

// What fails later, and what passes.
func failingOperations(t *testing.T, c azure) {
	c.spoil(t, "eastus", "PUT", "/fails", "async-fails=azure-async,1", "1")
	c.spoil(t, "eastus", "PUT", "/throttled", "throttle=1", "1")
	c.spoil(t, "eastus", "PUT", "/unlucky", "status=503", "1")
	c.play(t,
		step{command: `group create -n fail -l westus --query name`, prints: `"fail"`},
		step{command: `resource create -g fail -n fails ` + machines + `-p {} -l eastus`, says: `(OperationFailed) The operation failed as the request asked.`, code: 1},
		step{command: `resource create -g fail -n throttled ` + machines + `-p {} -l eastus --query name`, prints: `"throttled"`},
		step{command: `resource create -g fail -n unlucky ` + machines + `-p {} -l eastus --query name`, prints: `"unlucky"`},
	)
}

// A provider keeps what a group's deletion would take with it.
func blockedDeletions(t *testing.T, c azure) {
	c.spoil(t, "eastus", "DELETE", "/blocked/", "status=409", "-1")
	c.play(t,
		step{command: `group create -n blocked -l westus --query name`, prints: `"blocked"`},
		step{command: `resource create -g blocked -n vm ` + machines + `-p {} -l eastus --query name`, prints: `"vm"`},
	)
	o := c.run(t, "group", "delete", "-n", "blocked", "--yes")
	for _, part := range []string{
		"ERROR: (ResourceGroupDeletionBlocked) Deletion of resource group 'blocked' failed as resources with identifiers 'Contoso.Compute/virtualMachines/vm' could not be deleted. ",
		"\nCode: ResourceGroupDeletionBlocked\n",
		"Exception Details:",
		"(ContosoFault) The request was answered with 409 as asked.",
		"Message: The request was answered with 409 as asked.",
		"Target: " + c.ResourcePath("blocked", "Contoso.Compute/virtualMachines/vm"),
	} {
		if !strings.Contains(o.Stderr, part) {
			t.Errorf("az does not say %q", part)
		}
	}
	if o.Code != 1 || o.Stdout != "" || t.Failed() {
		t.Errorf("exit status %d\n%s%s", o.Code, o.Stdout, o.Stderr)
	}
	c.play(t, step{command: `group show -n blocked --query properties.provisioningState`, prints: `"Succeeded"`})
}

func rawRequests(t *testing.T, c azure) {
	const vm = `$S/resourceGroups/raw/providers/Contoso.Compute/virtualMachines/vm`
	c.play(t,
		step{command: `rest --method put --url $S/resourcegroups/raw?api-version=2021-04-01 --body {"location":"westus"} --query [name,properties.provisioningState]`, prints: `["raw","Succeeded"]`},
		step{command: `rest --method put --url ` + vm + `?api-version=2024-01-01 --body {"location":"eastus"} --query [name,location]`, prints: `["vm","eastus"]`},
		step{command: `rest --method get --url $P/subscriptions/{subscriptionId}/resourceGroups/raw/resources?api-version=2021-04-01 --query value[].name`, prints: `["vm"]`},
		step{command: `rest --method patch --url ` + vm + `?api-version=2024-01-01 --body {"tags":{"a":"b"}} --query tags`, prints: `{"a":"b"}`},
		step{command: `rest --method get --url /subscriptions?api-version=2022-12-01 --query value[].displayName`, prints: `["Demo"]`},
		step{command: `rest --method get --url /tenants?api-version=2022-12-01 --query value[].tenantId`, prints: `["` + harness.TenantID + `"]`},
		step{command: `rest --method delete --url ` + vm + `?api-version=2024-01-01`},
		step{
			command: `rest --method get --url ` + vm + `/providers/Microsoft.Resources/changes?api-version=2022-05-01 --query value[].properties.[changeType,status,changeAttributes.changedBy]`,
			prints:  `[["Delete","Succeeded","application@contoso.example"],["Update","Succeeded","application@contoso.example"],["Create","Succeeded","application@contoso.example"]]`,
		},
		step{
			command: `rest --method get --url ` + vm + `?api-version=2024-01-01`, code: 1,
			says: `Not Found({"error":{"code":"ResourceNotFound","message":"The Resource 'Contoso.Compute/virtualMachines/vm' under resource group 'raw' was not found. For more details please go to https://aka.ms/ARMResourceNotFoundFix","target":"` + vm + `"}})`,
		},
		step{
			command: `rest --method get --url $S/resourceGroups/raw`, code: 1,
			says: `Bad Request({"error":{"code":"MissingApiVersionParameter","message":"The api-version query parameter (?api-version=) is required for all requests.","target":"api-version"}})`,
		},
		step{
			command: `rest --method put --url ` + vm + `?api-version=2024-01-01 --body {"location":1}`, code: 1,
			says: `Bad Request({"error":{"code":"InvalidRequestContent","message":"The request content was invalid and could not be deserialized: 'The location is no string. Path 'location''.","target":"location"}})`,
		},
	)
}
