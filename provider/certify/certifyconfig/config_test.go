package certifyconfig

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"portico/provider/certify/contract"
)

const acme = `subscription: 00000000-0000-0000-0000-0000000000C1
tenant: 00000000-0000-0000-0000-0000000000aa
endpoints: {West US: "http://127.0.0.1:9001", global: "http://127.0.0.1:9000"}
providers:
  - namespace: Acme.Stuff
    resourceTypes:
      - {name: widgets, kind: tracked, apiVersions: [2024-01-01]}
      - {name: widgets/parts, kind: proxyOnly, apiVersions: ["2024-01-01"], contract: {refused: [{why: no size, members: {properties: {size: 7}}}]}}
      - {name: plans, kind: tracked, routing: global, apiVersions: ["2024-01-01"], capabilities: {tags: false, etags: true}}
      - {name: results, kind: proxyOnly, apiVersions: ["2024-01-01"], contract: {readOnly: true}}
samples:
  Acme.Stuff/widgets: {create: {properties: {size: small, count: 1, code: "007"}, kind: app}, update: {properties: {size: large, count: null}}}
  acme.stuff/WIDGETS/parts: {create: {properties: {n: 1.5}}}
  Acme.Stuff/plans: {create: {properties: {}}, update: {sku: {name: P1}}}
profiles: [core, tracked]
`

func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func load(t *testing.T, text string) *Config {
	t.Helper()
	c, err := Load(write(t, "certify.yaml", text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestLoad(t *testing.T) {
	c := load(t, acme)
	if c.Subscription != "00000000-0000-0000-0000-0000000000c1" || c.ResourceGroup != "certify" || c.Parallel != 4 || c.Disruptive || c.Through() {
		t.Errorf("%+v", c)
	}
	if want := map[string]string{"westus": "http://127.0.0.1:9001", "global": "http://127.0.0.1:9000"}; !reflect.DeepEqual(c.Endpoints, want) {
		t.Errorf("endpoints %v", c.Endpoints)
	}
	if !slices.Equal(c.Profiles, []contract.Profile{contract.Core, contract.TrackedResources}) {
		t.Errorf("profiles %v", c.Profiles)
	}
	if want := []string{"Acme.Stuff/widgets", "Acme.Stuff/widgets/parts", "Acme.Stuff/plans", "Acme.Stuff/results"}; !slices.Equal(c.Types, want) {
		t.Errorf("types %v", c.Types)
	}
	types := c.Description.Providers[0].ResourceTypes
	widgets, parts, plans := types[0], types[1], types[2]
	if !widgets.Capabilities.Tags || parts.Capabilities.Tags || plans.Capabilities.Tags || !plans.Capabilities.ETags {
		t.Error("tags belong to tracked types, unless the file denies it")
	}
	for _, row := range []struct {
		what      string
		got, want contract.Object
	}{
		{"a body", widgets.Contract.Body, contract.Object{"kind": "app", "properties": contract.Object{"size": "small", "count": 1.0, "code": "007"}}},
		{"another, patched", widgets.Contract.Other, contract.Object{"kind": "app", "properties": contract.Object{"size": "large", "code": "007"}}},
		{"a change", widgets.Contract.Change, contract.Object{"size": "large", "count": nil}},
		{"a body in another casing", parts.Contract.Body, contract.Object{"properties": contract.Object{"n": 1.5}}},
		{"no other", parts.Contract.Other, nil},
		{"an update beside properties", plans.Contract.Other, contract.Object{"properties": contract.Object{}, "sku": contract.Object{"name": "P1"}}},
		{"no change of properties", plans.Contract.Change, nil},
	} {
		if !reflect.DeepEqual(row.got, row.want) {
			t.Errorf("%s is %v, want %v", row.what, row.got, row.want)
		}
	}
	if r := parts.Contract.Refused; len(r) != 1 || r[0].Why != "no size" {
		t.Errorf("a member of contract is lost: %+v", r)
	}
}

func TestTargetStraight(t *testing.T) {
	c := load(t, acme+"parallel: 2\ndisruptive: true\nresourceGroup: mine\nsibling: 00000000-0000-0000-0000-0000000000c2\nlimits: {call: 3s, wait: 4s, case: 5s}\n")
	target, err := c.Target(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if target.Group != "mine" || target.Workers != 2 || !target.Disruptive || target.Limits.Call.Seconds() != 3 || target.Limits.Wait.Seconds() != 4 || target.Limits.Scene.Seconds() != 5 {
		t.Errorf("%+v", target)
	}
	if a := target.Adapter; a.Subscription != c.Subscription || a.Sibling != c.Sibling || !a.HasGlobal || !slices.Equal(a.Regions, []string{"westus"}) {
		t.Errorf("%+v", a)
	}
}

// Everything that is wrong is said with its line and what is allowed, all in one run.
func TestFaults(t *testing.T) {
	replace := func(old, with string) string {
		if !strings.Contains(acme, old) {
			t.Fatalf("%q is not in the file", old)
		}
		return strings.Replace(acme, old, with, 1)
	}
	head, _, _ := strings.Cut(acme, "providers:")
	without := func(line string) string { return replace(line+"\n", "") }
	for _, row := range []struct{ what, text, fault string }{
		{"nothing", "", "1: subscription is missing (allowed: a GUID"},
		{"an unknown key", acme + "surprise: 1\n", `16: unknown key "surprise" (allowed: subscription, tenant, `},
		{"no YAML", "a: [", "1: not valid YAML"},
		{"no GUID", replace("00000000-0000-0000-0000-0000000000C1", "mine"), `1: subscription: "mine" is not a valid GUID (allowed: a GUID`},
		{"no tenant", without("tenant: 00000000-0000-0000-0000-0000000000aa"), "1: tenant is missing (allowed: a GUID"},
		{"no way", without(`endpoints: {West US: "http://127.0.0.1:9001", global: "http://127.0.0.1:9000"}`), "1: neither endpoints nor portico is given (allowed: endpoints: {"},
		{"both ways", acme + "portico: {url: \"http://127.0.0.1:1\", tokenFile: TOKEN}\n", "16: both endpoints and portico are given, the former at "},
		{"no address", replace("http://127.0.0.1:9001", "127.0.0.1:9001"), "3: endpoints.westus is not a URL (allowed: https://host"},
		{"an address with a path", replace("http://127.0.0.1:9001", "http://127.0.0.1:9001/x"), `3: endpoints.westus "http://127.0.0.1:9001/x" has a path (allowed: https://host`},
		{"credentials in an address", replace("http://127.0.0.1:9001", "http://a:secret@127.0.0.1"), "3: endpoints.westus contains credentials (allowed: https://host"},
		{"a list of endpoints", replace(`{West US: "http://127.0.0.1:9001", global: "http://127.0.0.1:9000"}`, "[a]"), "3: endpoints is a list, not a mapping (allowed: {westus: "},
		{"no region", replace(`West US: "http://127.0.0.1:9001", `, ""), "3: endpoints has no region (allowed: at least one besides global"},
		{"one region twice", replace("West US:", `westus: "http://127.0.0.1:1", West US:`), `3: endpoint of region "westus" is given twice`},
		{"a global type without its endpoint", replace(`, global: "http://127.0.0.1:9000"`, ""), `9: type "plans" has routing: global, but endpoints has no global (allowed: add global: `},
		{"an unknown profile", replace("profiles: [core, tracked]", "profiles: [core, trackd]"), `15: profiles: "trackd" is not a valid profile (allowed: core, tracked, `},
		{"no profiles", without("profiles: [core, tracked]"), "1: profiles is missing (allowed: core, tracked, "},
		{"empty profiles", replace("[core, tracked]", "[]"), "15: profiles is empty (allowed: core, "},
		{"no providers", head + "profiles: [core]\n", "1: providers is missing (allowed: a list as in a region map"},
		{"a provider without types", replace("    resourceTypes:\n", "    resourceTypes: []\n    x:\n"), `7: unknown key "x" in providers`},
		{"an unknown key of a type", replace("apiVersions: [2024-01-01]", "apiVersions: [2024-01-01], subservice: x"), `7: unknown key "subservice" in providers.resourceTypes (allowed: name, kind, `},
		{"an unknown kind", replace("kind: proxyOnly", "kind: proxy"), `8: providers.resourceTypes.kind: "proxy" is not a valid value (allowed: tracked, proxyOnly, extension)`},
		{"no kind", replace("name: results, kind: proxyOnly", "name: results"), "10: providers.resourceTypes.kind is missing (allowed: tracked, "},
		{"no api-version", replace("[2024-01-01]", "[v1]"), `7: providers.resourceTypes.apiVersions: "v1" is not a valid api-version (allowed: YYYY-MM-DD`},
		{"no api-versions", replace("[2024-01-01]", "[]"), "7: providers.resourceTypes.apiVersions is empty (allowed: at least one"},
		{"a word where a list belongs", replace("[2024-01-01]", "2024-01-01"), "7: providers.resourceTypes.apiVersions is a single value, not a list (allowed: a list"},
		{"a number where a truth value belongs", replace("etags: true", "etags: 1"), `9: providers.resourceTypes.capabilities.etags: "1" is not a valid boolean (allowed: true, false)`},
		{"no namespace", replace("namespace: Acme.Stuff", "namespace: Acme Stuff"), `5: "Acme Stuff" is not a valid provider namespace (allowed: ASCII letters`},
		{"a namespace twice", replace("samples:", "  - {namespace: ACME.Stuff, resourceTypes: [{name: a, kind: tracked, apiVersions: [2024-01-01]}]}\nsamples:"), `11: namespace "ACME.Stuff" is given twice`},
		{"a type twice", replace("name: results", "name: Widgets"), `10: type "Widgets" is given twice`},
		{"a type without its parent", replace("name: widgets/parts", "name: gadgets/parts"), "8: nested type Acme.Stuff/gadgets/parts has no parent type gadgets (allowed: declare gadgets"},
		{"no sample", without("  Acme.Stuff/plans: {create: {properties: {}}, update: {sku: {name: P1}}}"), "9: type Acme.Stuff/plans has no sample (allowed: samples: {Acme.Stuff/plans: {create: "},
		{"a sample of nothing", replace("Acme.Stuff/plans: {", "Acme.Stuff/plan: {"), `14: samples has "Acme.Stuff/plan", which no provider declares (allowed: Acme.Stuff/widgets, `},
		{"a sample without create", replace("{create: {properties: {}}, update", "{update"), "14: samples.Acme.Stuff/plans has no create (allowed: create: {"},
		{"a sample with a location", replace("{properties: {n: 1.5}}", "{location: westus, properties: {}}"), "13: samples.acme.stuff/WIDGETS/parts.create has location (allowed: properties"},
		{"an unknown key of a sample", replace("{create: {properties: {n: 1.5}}}", "{create: {}, patch: {}}"), `13: unknown key "patch" in samples.acme.stuff/WIDGETS/parts (allowed: create, update)`},
		{"properties of a sample that are a list", replace("{properties: {n: 1.5}}", "{properties: [1]}"), "13: samples.acme.stuff/WIDGETS/parts.create.properties is a list, not a mapping"},
		{"a sample that is a list", replace("{create: {properties: {n: 1.5}}}", "[]"), "13: samples.acme.stuff/WIDGETS/parts is a list, not a mapping"},
		{"a body twice", replace("contract: {refused:", "contract: {body: {}, refused:"), "13: type Acme.Stuff/widgets/parts has a sample and a contract.body (allowed: one of them)"},
		{"no JSON", replace("n: 1.5", "n: .inf"), `13: ".inf" cannot be written as JSON`},
		{"the subscription as its own sibling", acme + "sibling: 00000000-0000-0000-0000-0000000000c1\n", "16: sibling is the subscription itself"},
		{"an unknown key of asynchrony", acme + "asynchrony: {pattern: []}\n", `16: unknown key "pattern" in asynchrony (allowed: short, long, `},
		{"an unknown method", acme + "asynchrony: {patterns: [{name: a, method: put}]}\n", `16: asynchrony.patterns.method: "put" is not a valid value (allowed: PUT, PATCH, DELETE, POST)`},
		{"a list in place of headers", acme + "asynchrony: {short: [a]}\n", "16: asynchrony.short is a list, not a mapping (allowed: headers with values"},
		{"a list in a header", acme + "asynchrony: {short: {a: [b]}}\n", "16: asynchrony.short.a is a list, not a single value"},
		{"a pattern without its method", acme + "asynchrony: {patterns: [{name: a}]}\n", "16: asynchrony.patterns.method is missing (allowed: PUT, "},
		{"an unknown key of contract", replace("contract: {refused:", "contract: {reads: 1, refused:"), `8: unknown key "reads" in providers.resourceTypes.contract (allowed: body, other, `},
		{"a text in place of a body", replace("members: {properties: {size: 7}}", "members: none"), "8: providers.resourceTypes.contract.refused.members is a single value, not a mapping"},
		{"no status", replace("contract: {readOnly: true}", "contract: {actions: [{status: fine}]}"), `10: providers.resourceTypes.contract.actions.status: "fine" is not a valid whole number (allowed: 1 to 599)`},
		{"a header that is none", acme + "pageSize: a b\n", `16: pageSize: "a b" is not a valid header name (allowed: `},
		{"too much at once", acme + "parallel: 1000\n", `16: parallel: "1000" is not a valid whole number`},
		{"no time", acme + "limits: {run: 7}\n", `16: limits.run: "7" is not a valid positive duration`},
		{"a certificate without its key", acme + "tls: {cert: TOKEN}\n", "16: tls has cert but no key (allowed: cert and key together)"},
		{"a file that is not there", acme + "tls: {ca: nowhere.pem}\n", "16: tls.ca: "},
		{"a group that is none", acme + "resourceGroup: a/b\n", `16: resourceGroup: "a/b" is not a valid resource group name (allowed: letters`},
	} {
		text := strings.ReplaceAll(row.text, "TOKEN", write(t, "token", "abc"))
		_, err := Load(write(t, "certify.yaml", text))
		if err == nil {
			t.Errorf("%s: no fault", row.what)
		} else if !strings.Contains(err.Error(), "certify.yaml:"+row.fault) {
			t.Errorf("%s:\n%v\nwant %s", row.what, err, row.fault)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: a secret is shown: %v", row.what, err)
		}
	}
}

const widgetsDocument = `{"swagger": "2.0", "info": {"title": "Acme", "version": "2024-01-01"}, "paths": {
  "/subscriptions/{s}/resourceGroups/{g}/providers/Acme.Stuff/plans/{name}": {"put": {
    "parameters": [{"name": "body", "in": "body", "schema": {"$ref": "#/definitions/Plan"}}], "responses": {"200": {"description": "OK"}}}}},
  "definitions": {"Plan": {"type": "object", "required": ["location", "properties"], "properties": {
    "location": {"type": "string"}, "properties": {"type": "object", "required": ["length"], "properties": {"length": LENGTH}}}}}}`

// Types without a sample take their bodies from the provider's own documents.
func TestSpecifications(t *testing.T) {
	plan := "  Acme.Stuff/plans: {create: {properties: {}}, update: {sku: {name: P1}}}\n"
	with := func(length string) string {
		file := write(t, "plans.json", strings.Replace(widgetsDocument, "LENGTH", length, 1))
		return strings.Replace(acme, plan, "", 1) + "specifications: [" + file + "]\n"
	}
	c := load(t, with(`{"type": "integer", "minimum": 3, "maximum": 9}`))
	of := c.Description.Providers[0].ResourceTypes[2].Contract
	length, _ := of.Body["properties"].(contract.Object)["length"].(float64)
	another, _ := of.Change["length"].(float64)
	if length < 3 || length > 9 || another < 3 || another > 9 || length == another || of.Body["location"] != nil {
		t.Errorf("%+v", of)
	}
	for what, row := range map[string]struct{ text, fault string }{
		"a document that is not there": {acme + "specifications: [nowhere.json]\n", "certify.yaml:16: specifications: "},
		"a member without a value":     {with(`{"type": "string", "pattern": "^(?=a)b$"}`), "certify.yaml:15: specifications: "},
	} {
		_, err := Load(write(t, "certify.yaml", row.text))
		if err == nil || !strings.Contains(err.Error(), row.fault) || !strings.Contains(err.Error(), "(allowed: an OpenAPI document, and a sample") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Tokens come from files, whose content no fault quotes.
func TestTokens(t *testing.T) {
	way := func(content string) string {
		file := write(t, "token", content)
		return strings.Replace(acme, acme[strings.Index(acme, "tenant:"):strings.Index(acme, "providers:")], "portico: {url: \"https://front.example/\", tokenFile: "+file+", name: me}\n", 1)
	}
	c := load(t, way("abc.def\n"))
	if c.Portico.Owner.Raw != "abc.def" || c.Portico.Owner.Name != "me" || c.Portico.Colleague.Raw != "" || c.Portico.URL != "https://front.example" || !c.Through() {
		t.Errorf("%+v", c.Portico)
	}
	for what, content := range map[string]string{"an empty file": "\n", "two lines": "sesame\nsesame\n", "control characters": "ses\x01ame"} {
		_, err := Load(write(t, "certify.yaml", way(content)))
		if err == nil || !strings.Contains(err.Error(), "contains no token (allowed: a readable file with a bearer token") || strings.Contains(err.Error(), "sesame") {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := Load(write(t, "certify.yaml", strings.Replace(way("x"), "tokenFile: ", "tokenFile: /nowhere", 1)))
	if err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("a token's file that is not there: %v", err)
	}
}
