package hostile

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"testing"

	"portico/test/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// Two tenants, with a subscription and a principal each.
const (
	ours   = harness.SubscriptionID
	theirs = "00000000-0000-0000-0000-0000000000b1"

	theirTenant = "00000000-0000-0000-0000-0000000000bb"
)

var (
	alice = harness.Token{Raw: "alice-token", TenantID: harness.TenantID, ObjectID: "00000000-0000-0000-0000-00000000a11c", Name: "alice"}
	carol = harness.Token{Raw: "carol-token", TenantID: harness.TenantID, ObjectID: "00000000-0000-0000-0000-00000000ca70", Name: "carol"}
	bob   = harness.Token{Raw: "bob-token", TenantID: theirTenant, ObjectID: "00000000-0000-0000-0000-000000000b0b", Name: "bob"}
)

const api = "?api-version=" + harness.Version

// world is a Portico before the provider. Alice and Carol belong to our tenant, Bob to
// theirs.
type world struct {
	*harness.World
	provider *harness.Scripted
}

// options vary a world. Evil is YAML for the provider Evil.Test, indented by four
// spaces; Settings are whole sections.
type options struct {
	Evil, Settings, Server string
	Postgres, Auth         string
	TLS                    bool // on the public listener
	Environment            []string
}

func newWorld(t *testing.T, o options) world {
	t.Helper()
	p := harness.StartScripted(t)
	versions := fmt.Sprintf("apiVersions: [%q, %q]", harness.Version, harness.VersionOld)
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{
		Endpoints: maps.Clone(p.URLs),
		Providers: "  - namespace: Evil.Test\n    registration: automatic\n" + o.Evil + "    endpoints:\n" + p.Endpoints() + fmt.Sprintf(`    resourceTypes:
      - {name: things, kind: tracked, capabilities: {move: true, tags: true, etags: true}, %[1]s}
      - {name: things/parts, kind: tracked, capabilities: {tags: true}, %[1]s}
      - {name: things/notes, kind: proxyOnly, %[1]s}
      - {name: globals, kind: tracked, routing: global, %[1]s}
      - {name: marks, kind: extension, %[1]s}
`, versions),
		Tokens: []harness.Token{alice, carol, bob},
		Subscriptions: []harness.Subscription{
			{ID: ours, TenantID: harness.TenantID, DisplayName: "ours", State: "Enabled"},
			{ID: theirs, TenantID: theirTenant, DisplayName: "theirs", State: "Enabled"},
		},
		Server: o.Server, Extra: o.Settings, Postgres: o.Postgres, TLS: o.TLS, Auth: o.Auth,
		Environment: o.Environment,
	}})
	return world{w, p}
}

// newThing is newWorld with a thing of our tenant in westus.
func newThing(t *testing.T, o options) (w world, thing string) {
	t.Helper()
	w = newWorld(t, o)
	w.group(t, "rg")
	thing = w.thing("rg", "one")
	w.put(t, thing)
	return w, thing
}

// wantNothingSent checks that no request reached the provider.
func (w world) wantNothingSent(t *testing.T) {
	t.Helper()
	if seen := w.provider.Calls(); len(seen) > 0 {
		t.Errorf("reached the provider: %+v", seen)
	}
}

// as makes a call with a person's token.
func (w world) as(t *testing.T, who harness.Token, method, path, body string, header ...string) harness.Answer {
	t.Helper()
	h := harness.Header(append([]string{"Authorization", "Bearer " + who.Raw}, header...)...)
	return w.Portico.Do(t, harness.Request{Method: method, Path: path, Body: body, Header: h})
}

// group creates a group of our tenant.
func (w world) group(t *testing.T, name string) string {
	t.Helper()
	w.PutGroup(t, name)
	return w.GroupPath(name)
}

// thing is the path of a thing of our tenant.
func (w world) thing(group, name string) string {
	return w.ResourcePath(group, "Evil.Test/things/"+name)
}

// put creates a resource in westus.
func (w world) put(t *testing.T, path string) {
	t.Helper()
	w.as(t, alice, http.MethodPut, path+api, located("westus")).Want(t, 200, 201)
}

func located(region string) string { return fmt.Sprintf(`{"location":%q,"properties":{}}`, region) }
