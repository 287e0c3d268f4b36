package peers

import (
	"bytes"
	"fmt"

	"portico/test/harness"
)

// Machines returns virtual machines of a region as JSON, separated by commas, of about
// size bytes in total.
func Machines(region, size int) []byte {
	var page bytes.Buffer
	for i := 0; page.Len() < size; i++ {
		if i > 0 {
			page.WriteByte(',')
		}
		name := fmt.Sprintf("vm-%02d-%06d", region, i)
		fmt.Fprintf(&page, `{"id":"/subscriptions/%s/resourceGroups/rg-%02d/providers/Contoso.Compute/virtualMachines/%s","name":"%s","type":"Contoso.Compute/virtualMachines","location":"westus","tags":{"env":"prod","owner":"someone@example.com"},"properties":{"vmId":"00000000-0000-0000-0000-%012d","hardwareProfile":{"vmSize":"Standard_D2s_v3"},"storageProfile":{"osDisk":{"osType":"Linux","diskSizeGB":30,"managedDisk":{"storageAccountType":"Premium_LRS"}},"dataDisks":[{"lun":0,"diskSizeGB":128},{"lun":1,"diskSizeGB":256}]},"networkProfile":{"networkInterfaces":[{"id":"/subscriptions/0/nic-%d","properties":{"primary":true}}]},"provisioningState":"Succeeded","timeCreated":"2024-01-01T00:00:00.0000000Z"}}`, harness.SubscriptionID, i%10, name, name, i, i)
	}
	return page.Bytes()
}
