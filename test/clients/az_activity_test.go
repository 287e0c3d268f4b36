package clients

import (
	"net/http"
	"testing"
	"time"

	"portico/test/harness"
)

// What people type to find out who did what, by each option of the command.
func TestAzActivityLog(t *testing.T) {
	t.Parallel()
	c := signedIn(t, harness.WorldOptions{Config: harness.Config{Tokens: []harness.Token{guest}, Owners: []string{objectID}}})
	const (
		list  = `monitor activity-log list `
		shown = ` --query [].[operationName.value,status.value,subStatus.value]`
		vms   = `Contoso.Compute/virtualMachines`
		vm    = `$S/resourceGroups/rg/providers/` + vms + `/vm`
	)
	start := time.Now().UTC().Add(-time.Hour).Format("2006-01-02T15:04:05Z")
	c.play(t,
		step{command: `group create -n rg -l westus --query name`, prints: `"rg"`},
		step{command: `resource create --id ` + vm + ` --api-version ` + harness.Version + ` -p {} -l eastus --query name`, prints: `"vm"`},
		step{command: `lock create -n l -t CanNotDelete -g rg --query name`, prints: `"l"`},
	)
	path := c.ResourcePath("rg", vms+"/vm") + "?api-version=" + harness.Version
	const correlation = "00000000-0000-0000-0000-0000000000ca"
	c.Portico.Do(t, harness.Request{
		Method: http.MethodDelete, Path: path, Header: harness.Header("Authorization", "Bearer "+c.Token, "x-ms-correlation-request-id", correlation),
	}).WantError(t, 409, "ScopeLocked")
	c.play(t,
		step{
			command: list + `--resource-id ` + vm + shown,
			prints:  `[["` + vms + `/delete","Failed","Conflict"],["` + vms + `/write","Succeeded","Created"]]`,
		},
		step{command: list + `--offset 1h --resource-id ` + vm + ` --max-events 1` + shown, prints: `[["` + vms + `/delete","Failed","Conflict"]]`},
		step{command: list + `--start-time ` + start + ` --offset 2h --namespace Contoso.Compute --status Succeeded` + shown, prints: `[["` + vms + `/write","Succeeded","Created"]]`},
		step{command: list + `--correlation-id ` + correlation + shown, prints: `[["` + vms + `/delete","Failed","Conflict"]]`},
		step{command: list + `-g rg --caller nobody` + shown, prints: `[]`},
		step{command: list + `-g rg --status Failed --select level status --query [].[level,status.value,resourceId]`, prints: `[["Error","Failed",null]]`},
		step{command: list + `--end-time ` + start + shown, prints: `[]`},
		step{command: `monitor activity-log list-categories --query [].value`, prints: `["Administrative"]`},
	)
}
