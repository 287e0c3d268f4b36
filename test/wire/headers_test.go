package wire

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// The ids that clients send and get back, and what the gateway says of a call to the
// provider.
func testIdentifyingHeaders(t *testing.T, w *world) {
	const q = "?" + V
	const mine = "11111111-2222-3333-4444-AAAAAAAAAAAA"
	g := w.group(t, "headers")
	thing := w.thing(t, g, "headers", "westus")
	get := func(header ...string) message { return message{target: thing + q, header: header} }
	own := func(header ...string) message { return message{target: g + q, header: header} }
	bad := func(header ...string) message { return message{target: g + "/../x" + q, header: header} }
	with := func(check func(t *testing.T, got reply, x received)) want {
		return want{status: 200, reaches: "raw westus", check: func(t *testing.T, got reply, reached []received) {
			t.Helper()
			if len(reached) == 1 {
				check(t, got, reached[0])
			}
		}}
	}
	fresh := func(t *testing.T, got reply, x received) {
		t.Helper()
		id := x.one(t, "x-ms-correlation-request-id")
		if !guid.MatchString(id) || got.header.Get("x-ms-correlation-request-id") != id {
			t.Errorf("the provider got correlation id %q, the client %q", id, got.header.Get("x-ms-correlation-request-id"))
		}
	}
	echo := func(wanted string) func(*testing.T, reply, []received) {
		return func(t *testing.T, got reply, _ []received) {
			t.Helper()
			values := got.header.Values("x-ms-client-request-id")
			if wanted == "" && len(values) != 0 || wanted != "" && (len(values) != 1 || values[0] != wanted) {
				t.Errorf("x-ms-client-request-id %q, want %q", values, wanted)
			}
		}
	}
	const back = "x-ms-return-client-request-id: "
	const clientID = "x-ms-client-request-id: "
	rows := []row{
		{"no ids", get(), with(func(t *testing.T, got reply, x received) {
			ids(t, got)
			fresh(t, got, x)
		})},
		{"a correlation id is kept", get("x-ms-correlation-request-id: " + mine), with(func(t *testing.T, got reply, x received) {
			if id := x.one(t, "x-ms-correlation-request-id"); !strings.EqualFold(id, mine) || !strings.EqualFold(got.header.Get("x-ms-correlation-request-id"), mine) {
				t.Errorf("provider %q, client %q", id, got.header.Get("x-ms-correlation-request-id"))
			}
		})},
		{"a correlation id is kept, own answer", own("x-ms-correlation-request-id: " + mine), want{status: 200, check: func(t *testing.T, got reply, _ []received) {
			if id := got.header.Get("x-ms-correlation-request-id"); !strings.EqualFold(id, mine) {
				t.Errorf("x-ms-correlation-request-id %q", id)
			}
		}}},
	}
	for name, id := range map[string]string{
		"not-a-guid": "not-a-guid", "braces": "{" + mine + "}", "no dashes": strings.ReplaceAll(mine, "-", ""), "10 KB": strings.Repeat("x", 10_000),
		"empty": "", "a GUID and more": mine + " x", "two GUIDs": mine + ", " + mine, "a tab within": "1111\t1111", "a GUID's letters": "zzzzzzzz-2222-3333-4444-555555555555",
		"invalid UTF-8": "\xff\xfe", "markup": "<script>",
	} {
		line := "x-ms-correlation-request-id: " + id
		check := func(t *testing.T, got reply) {
			t.Helper()
			if v := got.header.Get("x-ms-correlation-request-id"); !guid.MatchString(v) {
				t.Errorf("x-ms-correlation-request-id %.100q", v)
			}
			if id != "" && (strings.Contains(string(got.body), id) || strings.Contains(got.header.Get("x-ms-routing-request-id"), id)) {
				t.Errorf("repeated to the client: %s", got)
			}
		}
		rows = append(rows,
			row{"H7 correlation id: " + name, get(line), with(func(t *testing.T, got reply, x received) { check(t, got); fresh(t, got, x) })},
			row{"H7 correlation id: " + name + ", own answer", own(line), want{status: 200, check: func(t *testing.T, got reply, _ []received) { check(t, got) }}},
			row{"H7 correlation id: " + name + ", error", bad(line), want{status: 400, code: "InvalidRequestUri", check: func(t *testing.T, got reply, _ []received) { check(t, got) }}},
		)
	}
	rows = append(rows,
		row{"H7 correlation id twice", get("x-ms-correlation-request-id: "+mine, "x-ms-correlation-request-id: 99999999-2222-3333-4444-555555555555"), with(func(t *testing.T, got reply, x received) {
			_ = x.one(t, "x-ms-correlation-request-id")
			ids(t, got)
		})},
		row{"client id, return true", get(clientID+"abc", back+"true"), want{status: 200, reaches: "raw westus", check: echo("abc")}},
		row{"client id, return TRUE", get(clientID+"abc", back+"TRUE"), want{status: 200, reaches: "raw westus", check: echo("abc")}},
		row{"client id, return false", get(clientID+"abc", back+"false"), want{status: 200, reaches: "raw westus", check: echo("")}},
		row{"client id, return absent", get(clientID + "abc"), want{status: 200, reaches: "raw westus", check: echo("")}},
		row{"no client id, return true", get(back + "true"), want{status: 200, reaches: "raw westus", check: echo("")}},
		row{"client id, own answer, return true", own(clientID+"abc", back+"true"), want{status: 200, check: echo("abc")}},
		row{"client id, own answer, return True", own(clientID+"abc", back+"True"), want{status: 200, check: echo("abc")}},
		row{"client id, own answer, return absent", own(clientID + "abc"), want{status: 200, check: echo("")}},
		row{"client id, error, return true", bad(clientID+"abc", back+"true"), want{status: 400, code: "InvalidRequestUri", check: echo("abc")}},
		row{"client id, error, return absent", bad(clientID + "abc"), want{status: 400, code: "InvalidRequestUri", check: echo("")}},
		row{"client id is passed on, 32 digits", get(clientID + strings.ReplaceAll(mine, "-", "")), with(func(t *testing.T, _ reply, x received) {
			if id := x.one(t, "x-ms-client-request-id"); id != strings.ReplaceAll(mine, "-", "") {
				t.Errorf("the provider got %q", id)
			}
		})},
	)
	w.table(t, rows)

	t.Run("stamps", func(t *testing.T) { stamps(t, w, g, thing) })
}

// stamps are the headers that only the gateway sets, and those that it does not touch.
func stamps(t *testing.T, w *world, g, thing string) {
	const q = "?" + V
	seen := func(m message) received {
		w.forget(t)
		w.send(t, m)
		all := w.received(t)
		if len(all) != 1 {
			t.Fatalf("%d requests reached providers, want 1: %v", len(all), all)
		}
		return all[0]
	}
	for name, m := range map[string]message{
		"get":    {target: thing + q + "&$filter=a%20b+c"},
		"put":    {method: "PUT", target: thing + q, body: located("westus")},
		"patch":  {method: "PATCH", target: thing + q, body: `{"tags":{}}`},
		"post":   {method: "POST", target: thing + "/act" + q},
		"delete": {method: "DELETE", target: g + "/providers/Contoso.Raw/things/gone" + q},
		"casing": {target: strings.Replace(strings.Replace(thing, "/providers/", "/PROVIDERS/", 1), "/resourceGroups/", "/resourcegroups/", 1) + q},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "delete" {
				w.thing(t, g, "gone", "westus")
			}
			x := seen(m)
			if referer := x.one(t, "Referer"); referer != publicURL+m.target {
				t.Errorf("referer %q, want %q", referer, publicURL+m.target)
			}
			if ip := x.one(t, "x-ms-client-ip-address"); ip != "127.0.0.1" {
				t.Errorf("x-ms-client-ip-address %q", ip)
			}
			if id := x.one(t, "x-ms-client-tenant-id"); id != tenant {
				t.Errorf("x-ms-client-tenant-id %q, want %q", id, tenant)
			}
			if id := x.one(t, "x-ms-client-object-id"); !guid.MatchString(strings.ToLower(id)) {
				t.Errorf("x-ms-client-object-id %q", id)
			}
			if id := x.one(t, "x-ms-home-tenant-id"); id != "" && id != tenant {
				t.Errorf("x-ms-home-tenant-id %q", id)
			}
			if id := x.one(t, "x-ms-routing-request-id"); !routing.MatchString(id) {
				t.Errorf("x-ms-routing-request-id %q", id)
			}
			text := x.one(t, "x-ms-arm-resource-system-data")
			if x.method == http.MethodDelete {
				return // the contract does not say whether that is a write
			}
			if x.method == http.MethodGet {
				if text != "" {
					t.Errorf("x-ms-arm-resource-system-data on a %s: %s", x.method, text)
				}
				return
			}
			var data map[string]string
			if err := json.Unmarshal([]byte(text), &data); err != nil {
				t.Fatalf("x-ms-arm-resource-system-data %q: %v", text, err)
			}
			for _, member := range []string{"lastModifiedBy", "lastModifiedByType", "lastModifiedAt"} {
				if data[member] == "" {
					t.Errorf("systemData lacks %s: %s", member, text)
				}
			}
			if _, created := data["createdAt"]; created && x.method == http.MethodPost {
				t.Errorf("systemData of an action tells of a creation: %s", text)
			}
		})
	}

	t.Run("passed on untouched", func(t *testing.T) {
		lines := []string{
			`If-Match: W/"a", "b"`, `If-None-Match: *`, "Accept-Language: de-CH, en;q=0.5", "Accept: application/json", "X-Custom_Thing: a",
			"Prefer: return=minimal", "x-ms-effective-locale: en.en-us", "x-ms-return-client-request-id: true", "x-ms-version: 1", "User-Agent: wire/1.0 (test)",
			// L4: nothing is ever expanded.
			"X-L4-Braces: {env.HOME}", "X-L4-Dollar: ${HOME}", "X-L4-Percent: %s%d%n%{HOME}e", "X-L4-Plain: $HOME", "X-L4-Template: {{.Home}}",
		}
		x := seen(message{target: thing + q, header: lines})
		for _, line := range lines {
			name, value, _ := strings.Cut(line, ": ")
			if name == "X-Custom_Thing" {
				continue // an underscore is removed; it must not become a hyphen
			}
			if got := x.one(t, name); got != value {
				t.Errorf("%s: the provider got %q, want %q", name, got, value)
			}
		}
		if values := x.header.Values("X-Custom-Thing"); len(values) != 0 {
			t.Errorf("an underscore became a dash: %q", values)
		}
	})
	t.Run("a missing user agent stays missing", func(t *testing.T) {
		if values := seen(message{target: thing + q}).header.Values("User-Agent"); len(values) != 0 && values[0] != "" {
			t.Errorf("User-Agent %q", values)
		}
	})
	t.Run("entity tags pass both ways", func(t *testing.T) {
		w.thing(t, g, "headers-etag", "westus")
		w.scripted["westus"].on("/things/headers-etag", always(ok(412, `{"error":{"code":"PreconditionFailed","message":"x"}}`, `ETag: W/"odd;tag"`)))
		w.run(t, row{message: message{target: g + "/providers/Contoso.Raw/things/headers-etag" + q, header: []string{`If-Match: "x"`}},
			want: want{status: 412, reaches: "raw westus", check: func(t *testing.T, got reply, reached []received) {
				if tag := got.header.Get("ETag"); tag != `W/"odd;tag"` {
					t.Errorf("ETag %q", tag)
				}
				if len(reached) == 1 && reached[0].one(t, "If-Match") != `"x"` {
					t.Errorf("If-Match %q", reached[0].header["If-Match"])
				}
			}}})
	})
}
