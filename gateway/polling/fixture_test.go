package polling

import (
	"net/http"
	"strings"
	"testing"

	"go.uber.org/zap"

	"portico/gateway/exchange"
	"portico/inventory"
	"portico/inventory/polls"
	"portico/jobs/jobstest"
	"portico/routing"
)

const (
	subscription = jobstest.Subscription
	other        = "00000000-0000-0000-0000-0000000000aa"

	inSubscription = "/subscriptions/" + subscription
	machines       = inSubscription + "/providers/Contoso.Compute/virtualMachines"
	machine        = jobstest.Machine

	api = "?api-version=2024-01-01"

	// inWestus is the provider's endpoint in westus.
	inWestus = "http://127.0.0.1:7"
)

const configuration = `
server: {publicURL: "http://portico.example", region: westus, listen: "127.0.0.1:8080"}
auth: {mode: none}
regions:
  - {name: westus, displayName: West US}
  - {name: eastus, displayName: East US}
providers:
  - namespace: Contoso.Compute
    registration: automatic
    endpoints: {westus: ["` + inWestus + `"], global: ["http://127.0.0.1:9"], eastus: ["http://127.0.0.1:8"]}
    resourceTypes:
      - {name: virtualMachines, kind: tracked, apiVersions: ["2024-01-01"]}
      - {name: virtualMachines/runCommands, kind: proxyOnly, apiVersions: ["2024-01-01"]}
  - namespace: Contoso.Insight
    registration: automatic
    endpoints: {westus: ["` + inWestus + `"], global: ["http://127.0.0.1:9"]}
    resourceTypes:
      - {name: workspaces, kind: tracked, apiVersions: ["2024-01-01"]}
`

// fixture is the polling of providers' operations over a real store.
type fixture struct {
	*Forwarded
	t *testing.T
}

func newFixture(t *testing.T) fixture {
	t.Helper()
	b := jobstest.New(t, configuration, inventory.Subscription{ID: subscription, DisplayName: "First", Covered: true})
	return fixture{t: t, Forwarded: &Forwarded{
		Operations: &Operations{Store: b.Store, Public: b.Public, Settings: &b.Config.Operations}, Config: b.Config, Log: zap.NewNop(),
	}}
}

// put is a PUT of the machine.
func (f fixture) put() *routing.Request {
	f.t.Helper()
	q, fault := routing.Classify(f.Config.Map, http.MethodPut, machine, api[1:])
	if fault != nil {
		f.t.Fatal(fault)
	}
	return q
}

// guarded runs Guard on the headers of an answer to a PUT of the machine.
func (f fixture) guarded(status int, h http.Header) http.Header {
	f.t.Helper()
	q := f.put()
	d := routing.Decision{Region: "westus", Endpoint: q.Type.Endpoint("westus")}
	f.Guard(f.t.Context(), h, &exchange.Exchange{Request: q}, &d, status, nil)
	return h
}

// recorded returns the record of a polling URL.
func (f fixture) recorded(target string) (polls.Operation, error) {
	path, raw, _ := strings.Cut(target, "?")
	q, fault := routing.Classify(f.Config.Map, http.MethodGet, path, raw)
	if fault != nil {
		return polls.Operation{}, fault
	}
	return f.Store.Operations.Operation(f.t.Context(), subscription, routing.PollToken(q.Path.String(), q.Query))
}
