package browser

import (
	"net/http"
	"testing"

	"portico/test/harness"
)

// deployed has a step that succeeds, one that fails for good and two that are never sent.
const deployed = `{"properties": {"mode": "Incremental", "parameters": {"word": {"value": "a-word-that-nobody-is-shown"}}, "template": {
  "$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#", "contentVersion": "1.0.0.0",
  "parameters": {"word": {"type": "secureString"}},
  "resources": [
    {"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "made", "location": "westus", "properties": {}},
    {"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "broken", "location": "westus", "dependsOn": ["made"], "properties": {}},
    {"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "never", "location": "westus", "dependsOn": ["broken"], "properties": {}},
    {"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "neither", "location": "westus", "dependsOn": ["broken", "made"], "properties": {}}
  ]}}}`

// The page of a deployment has its graph, and in the table of each step its time, status and
// error; it is found by the deployment's name and by its ID.
func testDeployment(b *tab, at string, w *harness.World) {
	misbehave(b.t, w, "PUT", "/broken", "status=400", -1)
	w.PutGroup(b.t, "stack")
	id := w.GroupPath("stack") + "/providers/Microsoft.Resources/deployments/tower"
	w.Portico.Do(b.t, harness.Request{Method: http.MethodPut, Path: id + "?api-version=2021-04-01", Body: deployed}).Want(b.t, 201)
	job := "#/job?id=" + deploymentJob(b.t, w)
	b.open(at + "/#/search?q=tower")
	b.holds("its name leads to it", `location.hash === '`+job+`' || [...document.querySelectorAll('#hits a')].some((a) => a.hash === '`+job+`')`)
	b.open(at + "/#/search?q=" + id)
	b.holds("so does its ID", `location.hash === '`+job+`'`)
	b.holds("the one that failed", `document.querySelector('.graph g.refused title')?.textContent.includes('broken')`)
	b.holds("what waits for what", `document.querySelectorAll('.graph path.edge').length === 4 && document.querySelectorAll('.graph g.notSent').length === 2 && document.querySelectorAll('.graph g.succeeded').length === 1`)
	b.sees("deployment tower", "DeploymentFailed", "not sent", "BadRequest", "Correlation ID")
	b.holds("each step has its time and error", `[...document.querySelectorAll('td[data-label="Began"] time')].length === 2 && [...document.querySelectorAll('td[data-label="Error"]')].filter((c) => c.textContent).length === 1`)
	b.holds("and leads to its page", `[...document.querySelectorAll('td[data-label="Resource"] a')].filter((a) => a.hash.startsWith('#/resource?id=')).length === 4`)
	b.holds("nothing that it was given is shown", `!document.body.innerText.includes('a-word-that-nobody-is-shown')`)
	b.text(`document.getElementById('graph').focus()`)
	b.holds("keys reach the graph", `document.activeElement.id === 'graph' && document.activeElement.getAttribute('aria-label') !== ''`)
	b.open(at + "/#/jobs")
	b.holds("what is under way stands first", `(() => { const ended = [...document.querySelectorAll('#jobs [data-label="State"]')].map((c) => ['Done', 'Failed', 'Cancelled'].includes(c.textContent.trim())); return ended.includes(false) && ended.includes(true) && !ended[0] && ended.indexOf(true) > ended.lastIndexOf(false); })()`)
	b.open(at + "/#/jobs?state=failed")
	b.sees("0 in progress, 1 failed")
	b.holds("the failed one alone", `[...document.querySelectorAll('#jobs tbody tr')].length === 1 && document.querySelector('#jobs tbody a').hash === '`+job+`'`)
}

// deploymentJob is the job of the deployment.
func deploymentJob(t *testing.T, w *harness.World) string {
	t.Helper()
	for _, j := range admin(t, w, http.MethodGet, "/admin/jobs?kind=deployment", "").Values(t) {
		return j["id"].(string)
	}
	t.Fatal("there is no deployment")
	return ""
}
