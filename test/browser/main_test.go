package browser

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"testing"

	"portico/test/harness"
)

var (
	write  = flag.Bool("write", false, "write the pictures of docs/operations.md anew")
	update = flag.Bool("update", false, "write the pictures of the layout anew")
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(harness.Main(m))
}

// hostile is a text that would do harm as markup.
const hostile = `<img src=x onerror="window.harmed=1"><b>bold`

var operator = harness.Token{Raw: "the-operator's-token", Name: "Operator"}

// newWorld starts a Portico with short times.
func newWorld(t *testing.T, config harness.Config) *harness.World {
	t.Helper()
	config.Extra += `
health: {probe: {interval: 500ms}}
index: {sendWithin: 30s, lateWriteWindow: 1m, callMargin: 500ms, pollFloor: 50ms, askTimeout: 30s}
jobs: {lease: 2s}
groupDelete: {transientBudget: 20m, limit: 30m}
`
	return harness.NewWorld(t, harness.WorldOptions{Config: config})
}

// withToken has the admin listener ask for a token.
func withToken() string {
	return fmt.Sprintf("  adminToken: {sha256: %s, name: Operator}\n", operator.SHA256())
}

// misbehave has all providers misbehave so many times, or always with -1.
func misbehave(t *testing.T, w *harness.World, method, path, fault string, count int) {
	t.Helper()
	for _, region := range harness.RegionNames() {
		w.Contoso(region).Do(t, harness.Request{
			Method: http.MethodPost, Path: "/contoso/faults", Body: fmt.Sprintf(`{"method":%q,"pathContains":%q,"fault":%q,"count":%d}`, method, path, fault, count),
		}).Want(t, 201)
	}
}

// admin asks the admin listener as the operator does without the console.
func admin(t *testing.T, w *harness.World, method, path, body string) harness.Answer {
	t.Helper()
	return w.Portico.Admin(t, harness.Request{Method: method, Path: path, Body: body, Header: harness.Header("Authorization", "Bearer "+operator.Raw, "Content-Type", "application/json")})
}
