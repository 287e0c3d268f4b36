package contract

import (
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestMergePatch(t *testing.T) {
	// The examples of RFC 7396, appendix A.
	for _, row := range []struct{ target, patch, want string }{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`["a","b"]`, `["c","d"]`, `["c","d"]`},
		{`{"a":"b"}`, `["c"]`, `["c"]`},
		{`{"a":"foo"}`, `null`, `null`},
		{`{"e":null}`, `{"a":1}`, `{"e":null,"a":1}`},
		{`[1,2]`, `{"a":"b","c":null}`, `{"a":"b"}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
	} {
		if got := mergePatch(decode([]byte(row.target)), decode([]byte(row.patch))); !reflect.DeepEqual(got, decode([]byte(row.want))) {
			t.Errorf("%s patched with %s: %s, want %s", row.target, row.patch, show(got), row.want)
		}
	}
}

func TestMissing(t *testing.T) {
	for _, row := range []struct{ have, want, lack string }{
		{`{"a":1,"b":{"c":[1,2]}}`, `{"b":{"c":[1,2]}}`, ""},
		{`{"location":"West US"}`, `{"location":"westus"}`, ""},
		{`{"place":"West US"}`, `{"place":"westus"}`, `place is "West US" instead of "westus"`},
		{`{"location":"eastus"}`, `{"location":"westus"}`, `location is "eastus" instead of "westus"`},
		{`{"a":{}}`, `{"a":{"b":1}}`, "a.b is absent"},
		{`{"a":1}`, `{"a":{"b":1}}`, "a is 1 instead of an object"},
		{`{"a":[1]}`, `{"a":[1,2]}`, "a is [1] instead of [1,2]"},
		{`{"a":[{"n":1,"more":true},{"n":2}]}`, `{"a":[{"n":2},{"n":1}]}`, ""},
		{`{"a":[{"n":1},{"n":2}]}`, `{"a":[{"n":1},{"n":1}]}`, `a is [{"n":1},{"n":2}] instead of [{"n":1},{"n":1}]`},
	} {
		if got := missing(decode([]byte(row.have)), decode([]byte(row.want)), ""); got != row.lack {
			t.Errorf("%s in %s: %q, want %q", row.want, row.have, got, row.lack)
		}
	}
}

const small = `
providers:
  - namespace: Some.Where
    resourceTypes:
      - {name: things, kind: tracked, apiVersions: ["2020-01-01-preview", "2020-01-01"], contract: {body: {properties: {n: 1}}}}
      - {name: things/parts, kind: proxyOnly, apiVersions: ["2020-01-01"]}
`

func TestLoad(t *testing.T) {
	d, err := Load([]byte(small))
	if err != nil {
		t.Fatal(err)
	}
	things, parts := d.types()[0], d.types()[1]
	if parts.parent != things || parts.last() != "parts" || parts.FullName() != "Some.Where/things/parts" {
		t.Errorf("%+v", parts)
	}
	if things.version() != "2020-01-01" {
		t.Errorf("version %s", things.version())
	}
	if n, _ := lookup(things.Contract.Body, "properties.n"); n != 1.0 {
		t.Errorf("a number of a body is %T", n)
	}
	for path, want := range map[string]*Type{
		"/subscriptions/s/resourceGroups/g/providers/some.where/THINGS/a":                             things,
		"/subscriptions/s/providers/Some.Where/things":                                                things,
		"/subscriptions/s/resourceGroups/g/providers/Some.Where/things/a/start":                       things,
		"/subscriptions/s/resourceGroups/g/providers/Some.Where/things/a/parts/b":                     parts,
		"/subscriptions/s/resourceGroups/g/providers/Else.Where/x/y/providers/Some.Where/things/z":    things,
		"/subscriptions/s/resourceGroups/g/providers/Some.Where/things/a/providers/Else.Where/others": nil,
		"/subscriptions/s": nil,
	} {
		if got := d.typeAt(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
	for why, text := range map[string]string{
		"nothing":             ``,
		"an unknown member":   small + "surprise: true\n",
		"an unknown kind":     strings.Replace(small, "proxyOnly", "other", 1),
		"an absent parent":    strings.Replace(small, "things/parts", "wholes/parts", 1),
		"no api-versions":     strings.Replace(small, `["2020-01-01"]`, "[]", 1),
		"what is not YAML":    "providers: [",
		"providers that lack": "pageSize: x\n",
	} {
		if _, err := Load([]byte(text)); err == nil {
			t.Errorf("a description with %s was accepted", why)
		}
	}
}

// A provider that does nothing keeps no rule, and each case reports why.
func TestNothingIsKept(t *testing.T) {
	d, err := Load([]byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	tried := map[string]bool{}
	try := func(what string, answer http.HandlerFunc, adapter func(url string) *Adapter) {
		server := httptest.NewServer(answer)
		defer server.Close()
		var r Recorder
		target := Target{Adapter: adapter(server.URL), Description: d, Disruptive: true, Limits: Limits{Wait: 200 * time.Millisecond, Pause: 20 * time.Millisecond}}
		if err := Try(t.Context(), target, &r); err != nil {
			t.Fatal(err)
		}
		for _, result := range r.Results() {
			tried[result.Case] = true
			for _, f := range result.Faults {
				if f.Expected == "" || f.Got == "" || f.Exchange == nil {
					t.Errorf("%s: %s says nothing: %+v", what, result.Case, f)
				}
			}
			if result.Outcome == Kept {
				t.Errorf("%s: %s on %s is kept by a provider that does nothing", what, result.Case, result.Type)
			}
			if (result.Outcome == Broken || result.Outcome == Unreached) && len(result.Faults) == 0 {
				t.Errorf("%s: %s on %s is %s without a fault", what, result.Case, result.Type, result.Outcome)
			}
		}
	}
	status := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "/providers/") {
				w.WriteHeader(status)
			}
		}
	}
	echo := func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) } // the client may have gone
	straight := func(url string) *Adapter { return Straight(map[string]string{"westus": url, Global: url}) }
	try("refusing everything", status(http.StatusBadRequest), straight)
	try("finding nothing", status(http.StatusNotFound), straight)
	try("answering nothing", status(http.StatusOK), straight)
	try("echoing", echo, straight)
	try("a door that answers nothing", status(http.StatusOK), func(url string) *Adapter {
		return ThroughDoor(Door{URL: url, Regions: []string{"westus"}, HasGlobal: true, Subscription: "s", Sibling: "t", Owner: Token{"o", "o"}, Colleague: Token{"c", "c"}, Stranger: Token{"x", "x"}})
	})
	for _, c := range All() {
		if !tried[c.ID] {
			t.Errorf("the case %s was not tried", c.ID)
		}
	}
}

// whole describes a provider to which every case applies.
const whole = `
pageSize: x-page
asynchrony:
  retryAfter: x-retry
  failed: {x-outcome: Failed}
  canceled: {x-outcome: Canceled}
  patterns:
    - {name: put, method: PUT, status: true}
    - {name: hidden, method: PUT, accepted: true, location: true}
    - {name: patch, method: PATCH, accepted: true, location: true, status: true}
    - {name: delete, method: DELETE, accepted: true, location: true}
    - {name: post, method: POST, accepted: true, location: true}
  places: [{name: any, path: "{subscription}/providers/{namespace}"}]
providers:
  - namespace: Some.Where
    checkNameAvailability: [subscription, location]
    resourceTypes:
      - name: things
        kind: tracked
        apiVersions: ["2021-01-01", "2020-01-01", "2019-01-01"]
        capabilities: {etags: true, move: true, preflight: true}
        contract:
          withoutETags: ["2019-01-01"]
          body: {properties: {n: 1}}
          other: {properties: {m: 2}}
          change: {n: 2}
          kept: {kind: app, managedBy: /subscriptions/s/resourceGroups/g/providers/Some.Where/things/manager}
          createdFor: {ids: properties.made, more: {n: 3}}
          refused: [{why: a bad sku, members: {sku: 1}}]
          sku: {name: A}
          otherSKU: {name: B}
          skus: true
          hasSKUs: true
          actions: [{name: start, status: 200}]
          deepInsert: parts
          longRun: {action: run, child: runs/latest, status: properties.status}
      - {name: things/parts, kind: proxyOnly, apiVersions: ["2020-01-01"], contract: {body: {properties: {p: 1}}, other: {properties: {q: 1}}}}
      - {name: holders, kind: tracked, deletionPolicy: refuse, apiVersions: ["2020-01-01"], contract: {skus: true, body: {properties: {p: 1}}, other: {properties: {q: 1}}}}
      - {name: holders/held, kind: tracked, apiVersions: ["2020-01-01"], contract: {body: {properties: {p: 1}}, other: {properties: {q: 1}}}}
      - {name: marks, kind: extension, apiVersions: ["2020-01-01"], contract: {body: {properties: {p: 1}}, other: {properties: {q: 1}}}}
`
