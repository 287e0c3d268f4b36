package clients

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"

	"portico/test/harness"
)

const machines = `--resource-type Contoso.Compute/virtualMachines `

func resources(t *testing.T, c azure) {
	const vm = `-g res -n vm ` + machines
	c.play(t,
		step{command: `group create -n res -l westus --query name`, prints: `"res"`},
		step{
			command: `resource create ` + vm + `-p {"n":1} -l eastus --query [name,type,location,properties,resourceGroup,systemData.createdBy]`,
			prints:  `["vm","Contoso.Compute/virtualMachines","eastus",{"n":1,"provisioningState":"Succeeded"},"res","application@contoso.example"]`,
		},
		step{command: `resource wait --created ` + vm},
		step{command: `resource show ` + vm + `--query [location,properties.n,tags]`, prints: `["eastus",1,null]`},
		step{command: `resource show --ids $S/resourceGroups/res/providers/Contoso.Compute/virtualMachines/vm --query properties.n`, prints: `1`},
		step{
			command: `resource create -g res -n vm2 ` + machines + `--is-full-object -p {"location":"northeurope","tags":{"a":"b"},"properties":{"n":2}} --query [location,tags,properties.n]`,
			prints:  `["northeurope",{"a":"b"},2]`,
		},
		step{
			command: `resource create -g res -n vm3 ` + machines + `-p {} -l westus --api-version 2020-01-01`, code: 1,
			says: `(NoRegisteredProviderFound) No registered resource provider found for location 'westus' and API version '2020-01-01' for type 'virtualMachines'. The supported api-versions are '2024-06-01-preview, 2024-01-01, 2023-01-01'. The supported locations are 'westus, eastus, northeurope'.`,
		},
		step{
			command: `resource create ` + vm + `-p {} -l westus`, code: 1,
			says: `(InvalidResourceLocation) The resource 'vm' already exists in location 'eastus' in resource group 'res'. A resource with the same name cannot be created in location 'westus'. Please select a new resource name.`,
		},
		step{command: `resource create -g nowhere -n vm ` + machines + `-p {} -l westus`, says: `(ResourceGroupNotFound) Resource group 'nowhere' could not be found.`, code: 3},
		step{
			command: `resource show -g res -n nothing ` + machines, code: 3,
			says: `(ResourceNotFound) The Resource 'Contoso.Compute/virtualMachines/nothing' under resource group 'res' was not found. For more details please go to https://aka.ms/ARMResourceNotFoundFix`,
		},
		step{command: `resource show -g res -n x --resource-type Contoso.Nowhere/things`, says: `(InvalidResourceNamespace) The resource namespace 'Contoso.Nowhere' is invalid.`, code: 3},
		step{command: `resource update ` + vm + `--set properties.n=7 tags.z=1 --query [properties.n,tags]`, prints: `[7,{"z":"1"}]`},
		step{command: `resource update ` + vm + `--remove properties.n --query [properties.n,tags]`, prints: `[null,{"z":"1"}]`},
		step{command: `resource tag ` + vm + `--tags k=v --query tags`, prints: `{"k":"v"}`},
		step{command: `resource tag ` + vm + `--is-incremental --tags k2=v2 --query tags`, prints: `{"k":"v","k2":"v2"}`},
		step{command: `resource delete ` + vm},
		step{command: `resource delete --ids $S/resourceGroups/res/providers/Contoso.Compute/virtualMachines/vm`},
		step{command: `resource delete --no-wait --ids $S/resourceGroups/res/providers/Contoso.Compute/virtualMachines/vm2`},
		step{command: `resource wait --deleted --interval 1 --ids $S/resourceGroups/res/providers/Contoso.Compute/virtualMachines/vm2`},
		step{command: `resource list -g res`, prints: `[]`},
	)
}

func nestedResources(t *testing.T, c azure) {
	const disk = `-g nested -n disk --parent virtualMachines/vm --namespace Contoso.Compute --resource-type disks `
	c.play(t,
		step{command: `group create -n nested -l westus --query name`, prints: `"nested"`},
		step{command: `resource create -g nested -n vm ` + machines + `-p {} -l eastus --query name`, prints: `"vm"`},
		step{command: `resource create ` + disk + `-p {} -l eastus --query [name,type]`, prints: `["disk","Contoso.Compute/virtualMachines/disks"]`},
		step{command: `resource show ` + disk + `--query [name,location]`, prints: `["disk","eastus"]`},
		step{command: `resource list -g nested --query [].[name,type]`, prints: `[["vm","Contoso.Compute/virtualMachines"],["vm/disk","Contoso.Compute/virtualMachines/disks"]]`},
		step{command: `resource delete -g nested -n vm ` + machines},
		step{command: `resource wait --deleted --interval 1 ` + disk},
		step{command: `resource list -g nested`, prints: `[]`},
	)
}

func actions(t *testing.T, c azure) {
	const vm = `-g act -n vm ` + machines
	c.play(t,
		step{command: `group create -n act -l westus --query name`, prints: `"act"`},
		step{command: `resource create ` + vm + `-p {} -l eastus --query name`, prints: `"vm"`},
		step{command: `resource invoke-action --action listKeys ` + vm + `--query keys[].keyName`, prints: `["primary","secondary"]`},
		step{command: `resource invoke-action --action restart ` + vm, prints: `{}`},
		step{command: `resource invoke-action --action fly ` + vm, says: `The resource type 'Contoso.Compute/virtualMachines' has no action 'fly'.`, code: 3},
	)
}

func lists(t *testing.T, c azure) {
	c.play(t,
		step{command: `group create -n lists -l westus --query name`, prints: `"lists"`},
		step{command: `resource create -g lists -n one ` + machines + `--is-full-object -p {"location":"eastus","tags":{"listed":"yes"}} --query name`, prints: `"one"`},
		step{command: `resource create -g lists -n two ` + machines + `--is-full-object -p {"location":"westus","tags":{"listed":"no"}} --query name`, prints: `"two"`},
		step{command: `resource create -g lists -n net --resource-type Contoso.Compute/networkInterfaces -p {} -l eastus --query name`, prints: `"net"`},
		step{
			command: `resource list -g lists --query sort_by(@,&name)[].[name,location,type,provisioningState,id]`,
			prints: `[["net","eastus","Contoso.Compute/networkInterfaces","Succeeded","$S/resourceGroups/lists/providers/Contoso.Compute/networkInterfaces/net"],` +
				`["one","eastus","Contoso.Compute/virtualMachines","Succeeded","$S/resourceGroups/lists/providers/Contoso.Compute/virtualMachines/one"],` +
				`["two","westus","Contoso.Compute/virtualMachines","Succeeded","$S/resourceGroups/lists/providers/Contoso.Compute/virtualMachines/two"]]`,
		},
		step{command: `resource list --tag listed=yes --query [].name`, prints: `["one"]`},
		step{command: `resource list --tag listed --query sort([].name)`, prints: `["one","two"]`},
		step{command: `resource list -g lists --resource-type Contoso.Compute/networkInterfaces --query [].name`, prints: `["net"]`},
		step{command: `resource list -g lists -l eastus --query sort([].name)`, prints: `["net","one"]`},
		step{command: `resource list -g lists -l eastus --name one --query [].name`, prints: `["one"]`},
		step{command: `resource list -g lists -l northeurope`, prints: `[]`},
		step{command: `resource list -g lists --query [?createdTime!=null].name|length(@)`, prints: `3`},
		step{command: `resource list -g nowhere`, says: `(ResourceGroupNotFound) Resource group 'nowhere' could not be found.`, code: 3},
	)
}

// A list is longer than a page: the CLI goes on by itself.
func longLists(t *testing.T, c azure) {
	const each = 520
	names := []string{"long1", "long2"}
	for _, name := range names {
		c.PutGroup(t, name)
	}
	var workers sync.WaitGroup
	failed := make(chan error, 8)
	for first := range cap(failed) {
		workers.Go(func() {
			for n := first; n < each*len(names); n += cap(failed) {
				if err := c.putProfile(t.Context(), names[n%2], fmt.Sprintf("p%04d", n)); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	workers.Wait()
	close(failed)
	for err := range failed {
		t.Fatal(err)
	}
	listed := decoded[[]string](t, c.do(t, "resource", "list", "--resource-type", "Contoso.Insight/profiles", "--query", "[].name"))
	slices.Sort(listed)
	if unique := len(slices.Compact(slices.Clone(listed))); len(listed) != each*len(names) || unique != len(listed) {
		t.Errorf("%d profiles are listed, %d names", len(listed), unique)
	}
}

func (c azure) putProfile(ctx context.Context, group, name string) error {
	a, err := c.Portico.Try(ctx, harness.Request{
		Method: http.MethodPut,
		Path:   c.ResourcePath(group, "Contoso.Insight/profiles/"+name) + "?api-version=" + harness.Version,
		Body:   `{"location":"global"}`,
	})
	if err == nil && a.Status != http.StatusCreated {
		err = fmt.Errorf("%s: %d %s", name, a.Status, a.Body)
	}
	return err
}

func moves(t *testing.T, c azure) {
	const from, to = `$S/resourceGroups/from/providers/Contoso.Compute/`, `$S/resourceGroups/to/providers/Contoso.Compute/`
	c.play(t,
		step{command: `group create -n from -l westus --query name`, prints: `"from"`},
		step{command: `group create -n to -l westus --query name`, prints: `"to"`},
		step{command: `resource create -g from -n vm ` + machines + `-p {} -l eastus --query name`, prints: `"vm"`},
		step{command: `resource create -g from -n net --resource-type Contoso.Compute/networkInterfaces -p {} -l westus --query name`, prints: `"net"`},
		step{command: `resource move --destination-group to --ids ` + from + `virtualMachines/vm ` + from + `networkInterfaces/net`},
		step{command: `resource list -g from`, prints: `[]`},
		step{command: `resource list -g to --query sort([].id)`, prints: `["` + to + `networkInterfaces/net","` + to + `virtualMachines/vm"]`},
		step{command: `resource show --ids ` + to + `virtualMachines/vm --query [location,resourceGroup]`, prints: `["eastus","to"]`},
		step{
			command: `resource move --destination-group nowhere --ids ` + to + `virtualMachines/vm`, code: 1,
			says: `(ResourceGroupNotFound) Resource group 'nowhere' could not be found.`,
		},
	)
}
