package gateway

import (
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"portico/access"
	"portico/config"
	"portico/config/configtest"
	"portico/gateway/explain"
	"portico/inventory"
	"portico/inventory/storetest"
	"portico/upstream"
)

// configured returns a configuration with one region and one provider.
func configured(t *testing.T) *config.Config {
	t.Helper()
	return configtest.Load(t, `
server: {publicURL: "http://portico.example", region: westus, listen: "127.0.0.1:8080"}
auth: {mode: none}
throttle: {enabled: true}
regions: [{name: westus}]
providers: [{namespace: Contoso.Compute, registration: automatic, endpoints: {westus: ["http://127.0.0.1:7"], global: ["http://127.0.0.1:7"]}, resourceTypes: [{name: virtualMachines, kind: tracked, apiVersions: ["2024-01-01"]}]}]
`)
}

// What records shares nothing with the service but what is read, or rolled back: a port that is
// added is not the service's unless this says so.
func TestRecordingPorts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "portico.db")
	storetest.CreateDatabase(t, path)
	options := storetest.Options(storetest.NewClock())
	options.DSN = path
	store, err := inventory.Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	client := upstream.New(upstream.Options{Metrics: registry})
	t.Cleanup(func() {
		client.Close()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	g := New(Options{Config: configured(t), Store: store, Upstream: client, Authenticator: access.Anyone{}, Log: zap.NewNop(), Metrics: registry})
	allowed := []string{"index", "scopes", "intents", "around"}
	service, recording := reflect.ValueOf(g.ports), reflect.ValueOf(g.recording(explain.NewCalls(g.upstream), false, false))
	for i := range service.NumField() {
		name := service.Type().Field(i).Name
		if a, b := service.Field(i), recording.Field(i); !slices.Contains(allowed, name) && !b.IsZero() && (a.Kind() == reflect.Func || a.Equal(b)) {
			t.Errorf("the port %s is that of the service", name)
		}
	}
}
