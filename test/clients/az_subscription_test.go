package clients

import (
	"testing"

	"portico/test/harness"
)

// The CLI lists what the caller's tenant has, and goes from one subscription to
// another.
func TestAzSubscriptions(t *testing.T) {
	t.Parallel()
	const (
		second   = "00000000-0000-0000-0000-000000000002"
		disabled = "00000000-0000-0000-0000-000000000003"
		others   = "00000000-0000-0000-0000-000000000004"
	)
	c := signedIn(t, harness.WorldOptions{Config: harness.Config{
		Extra: "operations: {retryAfterMin: 1s}\n",
		Subscriptions: []harness.Subscription{
			{ID: harness.SubscriptionID, TenantID: harness.TenantID, DisplayName: "First", State: "Enabled"},
			{ID: second, TenantID: harness.TenantID, DisplayName: "Second", State: "Enabled"},
			{ID: disabled, TenantID: harness.TenantID, DisplayName: "Third", State: "Disabled"},
			{ID: others, TenantID: "00000000-0000-0000-0000-0000000000bb", DisplayName: "Others", State: "Enabled"},
		},
	}})
	c.play(t,
		step{command: `account list --query [].[name,isDefault]`, prints: `[["First",true],["Second",false]]`},
		step{command: `account list --all --query [].[name,state]`, prints: `[["First","Enabled"],["Second","Enabled"],["Third","Disabled"]]`},
		step{command: `group create -n rg -l westus --query id`, prints: `"$S/resourceGroups/rg"`},
		step{command: `resource create -g rg -n vm ` + machines + `-p {} -l eastus --query name`, prints: `"vm"`},
		step{command: `account set --subscription Second`},
		step{command: `group create -n rg -l westus --query id`, prints: `"/subscriptions/` + second + `/resourceGroups/rg"`},
		step{command: `resource list`, prints: `[]`},
		step{command: `resource list --subscription First --query [].name`, prints: `["vm"]`},
		step{command: `resource move --subscription First --destination-subscription-id ` + second + ` --destination-group rg --ids $S/resourceGroups/rg/providers/Contoso.Compute/virtualMachines/vm`},
		step{command: `resource list --query [].id`, prints: `["/subscriptions/` + second + `/resourceGroups/rg/providers/Contoso.Compute/virtualMachines/vm"]`},
		step{command: `group list --subscription Third`, prints: `[]`},
		step{
			command: `group create -n rg -l westus --subscription Third`, code: 1,
			says: `(ReadOnlyDisabledSubscription) The subscription '` + disabled + `' is disabled and therefore marked as read only. You cannot perform any write actions on this subscription until it is re-enabled.`,
		},
	)
}
