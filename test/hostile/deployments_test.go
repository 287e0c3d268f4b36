package hostile

import (
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"portico/test/harness"
)

// A template of 500 bytes that asks for many large answers makes Portico hold what it takes of
// them, and is refused what does not fit, by the bound's name.
func TestDeploymentsOfLargeAnswers(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the peak of a process's memory is read from /proc")
	}
	const machines = 100
	w := newWorld(t, options{Environment: tight})
	group := w.group(t, "rg")
	numbers := "[" + strings.Repeat("1,", 100_000) + "1]" // 6 MB as values
	for i := range machines {
		w.as(t, alice, http.MethodPut, w.thing("rg", fmt.Sprint("m", i))+api, fmt.Sprintf(`{"location":"westus","properties":{"size":"size-%d","numbers":%s}}`, i, numbers)).Want(t, 201)
	}
	before := peak(t, w.Portico.Pid())
	_, kind, _ := strings.Cut(w.thing("rg", ""), "/providers/")
	deploy := func(name, member string) (state, text string) {
		t.Helper()
		path := group + "/providers/Microsoft.Resources/deployments/" + name + "?api-version=2021-04-01"
		w.as(t, alice, http.MethodPut, path, fmt.Sprintf(`{"properties":{"mode":"Incremental","template":{"$schema":"https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#",
			"contentVersion":"1.0.0.0","resources":[],"outputs":{"all":{"type":"array","copy":{"count":%d,"input":"[reference(resourceId('%s', format('m{0}', copyIndex())), '%s')%s]"}}}}}}`,
			machines, strings.Trim(kind, "/"), harness.Version, member)).Want(t, 201)
		eventually(t, "the end of the deployment", func() bool {
			var d struct {
				Properties struct{ ProvisioningState string }
			}
			a := w.as(t, alice, http.MethodGet, path, "").Want(t, 200)
			harness.OK(t, json.Unmarshal(a.Body, &d))
			state, text = d.Properties.ProvisioningState, string(a.Body)
			return state == "Succeeded" || state == "Failed"
		})
		return state, text
	}
	if state, text := deploy("members", ".size"); state != "Succeeded" || !strings.Contains(text, `"size-99"`) {
		t.Errorf("%s: %.999s", state, text)
	}
	if state, text := deploy("whole", ""); state != "Failed" || !strings.Contains(text, "batch.memory") {
		t.Errorf("%s: %.999s", state, text)
	}
	now := peak(t, w.Portico.Pid())
	t.Logf("the process held %d MiB at its peak, and %d MiB before", now>>20, before>>20)
	if now > before+mostOfAttack {
		t.Errorf("the process held %d MiB at its peak, and %d MiB before", now>>20, before>>20)
	}
	if held := w.Portico.Metric(t, "portico_batch_held_bytes"); held != 0 {
		t.Errorf("%v bytes are held still", held)
	}
}
