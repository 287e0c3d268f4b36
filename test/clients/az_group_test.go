package clients

import (
	"testing"

	"portico/test/harness"
)

// TestAz has the CLI do in one cloud, at the same time, what different people
// do in their groups.
func TestAz(t *testing.T) {
	t.Parallel()
	// The CLI waits for as long as it is told to.
	c := signedIn(t, harness.WorldOptions{Config: harness.Config{Extra: "operations: {retryAfterMin: 1s, retryAfterMax: 1s}\n"}})
	for name, work := range map[string]func(*testing.T, azure){
		"groups":              groups,
		"resources":           resources,
		"nested resources":    nestedResources,
		"actions":             actions,
		"lists":               lists,
		"long lists":          longLists,
		"tags":                tags,
		"locks":               locks,
		"moves":               moves,
		"deletions":           deletions,
		"blocked deletions":   blockedDeletions,
		"operations":          operations,
		"failing operations":  failingOperations,
		"raw requests":        rawRequests,
		"deployments":         deployments,
		"failing deployments": failingDeployments,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			work(t, c.beside(t))
		})
	}
}

func groups(t *testing.T, c azure) {
	const shown = `--query [name,location,tags,properties.provisioningState,type]`
	c.play(t,
		step{command: `group exists -n groups`, prints: `false`},
		step{command: `group show -n groups`, says: `(ResourceGroupNotFound) Resource group 'groups' could not be found.`, code: 3},
		step{
			command: `group create -n groups -l westus --tags stage=test empty= ` + shown,
			prints:  `["groups","westus",{"empty":"","stage":"test"},"Succeeded","Microsoft.Resources/resourceGroups"]`,
		},
		step{command: `group exists -n GROUPS`, prints: `true`},
		step{command: `group wait -n groups --created`},
		step{command: `group show -n groups --query id`, prints: `"$S/resourceGroups/groups"`},
		step{
			command: `group create -n groups -l eastus`, code: 1,
			says: `(InvalidResourceGroupLocation) Invalid resource group location 'eastus'. The Resource group already exists in location 'westus'.`,
		},
		step{
			command: `group create -n groups2 -l mars`, code: 1,
			says: `(LocationNotAvailableForResourceGroup) The provided location 'mars' is not available for resource group. List of available regions is 'westus,eastus,northeurope'.`,
		},
		step{
			command: `group create -n bad!name -l westus`, code: 1,
			says: `(InvalidResourceGroup) The provided resource group name 'bad!name' has these invalid characters: '!'. The name can only be a letter, digit, '-', '.', '(', ')' or '_'.`,
		},
		step{command: `group update -n groups --tags owner=ann ` + shown, prints: `["groups","westus",{"owner":"ann"},"Succeeded","Microsoft.Resources/resourceGroups"]`},
		step{command: `group update -n groups --set tags.more=1 --query tags`, prints: `{"more":"1","owner":"ann"}`},
		step{command: `group update -n groups --tags --query tags`, prints: ``},
		step{command: `group create -n groups2 -l eastus --tags kind=groups --query name`, prints: `"groups2"`},
		step{command: `group update -n groups --tags kind=groups --query tags`, prints: `{"kind":"groups"}`},
		step{command: `group list --tag kind=groups --query [].name`, prints: `["groups","groups2"]`},
		step{command: `group list --tag kind=other`, prints: `[]`},
		step{command: `group list --query [?tags.kind=='groups'].[name,location]`, prints: `[["groups","westus"],["groups2","eastus"]]`},
		step{command: `group delete -n groups2 --yes`},
		step{command: `group delete -n groups2 --yes`, says: `(ResourceGroupNotFound) Resource group 'groups2' could not be found.`, code: 3},
	)
}

func deletions(t *testing.T, c azure) {
	c.play(t,
		step{command: `group create -n full -l westus --query name`, prints: `"full"`},
		step{command: `resource create -g full -n vm --resource-type Contoso.Compute/virtualMachines -p {} -l eastus --query name`, prints: `"vm"`},
		step{command: `resource create -g full -n ws --resource-type Contoso.Insight/workspaces -p {} -l northeurope --query name`, prints: `"ws"`},
		step{command: `group delete -n full --yes --no-wait`},
		step{command: `group wait -n full --deleted --interval 1 --timeout 120`},
		step{command: `group exists -n full`, prints: `false`},

		step{command: `group create -n full -l westus --query name`, prints: `"full"`},
		step{command: `resource create -g full -n vm --resource-type Contoso.Compute/virtualMachines -p {} -l eastus --query name`, prints: `"vm"`},
		step{command: `group delete -n full --yes`},
		step{command: `group exists -n full`, prints: `false`},
	)
	c.WantOnlyIn(t, "", c.ResourcePath("full", "Contoso.Compute/virtualMachines/vm"))
}
