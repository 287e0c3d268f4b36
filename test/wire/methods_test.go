package wire

import (
	"slices"
	"strings"
	"testing"
)

// P12: a method that a route does not define is refused with the ones that it
// does; a method that nothing defines is refused everywhere.
func testMethods(t *testing.T, w *world) {
	const q = "?" + V
	g := w.group(t, "methods")
	vm := w.machine(t, g, "n", "westus")

	var rows []row
	for _, route := range []struct {
		name, path string
		refused    []string
		allowed    []string
	}{
		{"subscriptions", "/subscriptions", []string{"PUT", "POST", "PATCH", "DELETE"}, []string{"GET"}},
		{"subscription", S, []string{"PUT", "PATCH", "DELETE"}, []string{"GET"}},
		{"locations", S + "/locations", []string{"PUT", "DELETE"}, []string{"GET"}},
		{"tenants", "/tenants", []string{"PUT", "POST"}, []string{"GET"}},
		{"metadata", "/metadata/endpoints", []string{"PUT", "DELETE"}, []string{"GET"}},
		{"groups", S + "/resourceGroups", []string{"PUT", "POST", "PATCH", "DELETE"}, []string{"GET"}},
		{"group", g, []string{"POST"}, []string{"GET", "PUT", "PATCH", "DELETE", "HEAD"}},
		{"resources", S + "/resources", []string{"PUT", "POST", "DELETE"}, []string{"GET"}},
		{"group resources", g + "/resources", []string{"PUT", "PATCH", "DELETE"}, []string{"GET"}},
		{"providers", S + "/providers", []string{"PUT", "POST"}, []string{"GET"}},
		{"provider", S + "/providers/Contoso.Compute", []string{"PUT", "DELETE"}, []string{"GET"}},
		{"tenant provider", "/providers/Contoso.Compute", []string{"PUT", "DELETE"}, []string{"GET"}},
	} {
		for _, method := range route.refused {
			m := message{method: method, target: route.path + q}
			if method == "PUT" || method == "PATCH" {
				m.body = `{"location":"westus"}`
			}
			rows = append(rows, row{route.name + " " + method, m, want{status: 405, code: "MethodNotAllowed",
				check: func(t *testing.T, got reply, _ []received) {
					allow := strings.Split(strings.ReplaceAll(got.header.Get("Allow"), " ", ""), ",")
					for _, method := range route.allowed {
						if !slices.Contains(allow, method) {
							t.Errorf("Allow: %q lacks %s", got.header.Get("Allow"), method)
						}
					}
					if slices.Contains(allow, method) {
						t.Errorf("Allow: %q holds what was refused", got.header.Get("Allow"))
					}
				}}})
		}
	}
	unknown := want{status: 501, oneOf: []int{405}, check: func(t *testing.T, got reply, _ []received) {
		if strings.Contains(string(got.body), "secret-of-the-client") || got.header.Get("X-Canary") != "" {
			t.Errorf("the answer repeats the request: %s", got)
		}
	}}
	canary := []string{"X-Canary: secret-of-the-client"}
	for _, target := range []struct{ name, path string }{{"own route", g + q}, {"typed route", vm + q}, {"tenant root", "/" + q}, {"no route", "/none" + q}} {
		for _, method := range []string{"FOO", "TRACE", "OPTIONS", "PROPFIND", "get", "Put", "LINK"} {
			rows = append(rows, row{method + " on " + target.name, message{method: method, target: target.path, header: canary}, unknown})
		}
	}
	rows = append(rows,
		// By another method than POST this is a collection of an unknown type.
		row{"PUT register", message{method: "PUT", target: S + "/providers/Contoso.Compute/register" + q, body: "{}"},
			want{status: 405, oneOf: []int{404}, code: "MethodNotAllowed", codes: []string{"InvalidResourceType"}}},
		row{"OPTIONS *", message{method: "OPTIONS", target: "*", header: canary}, want{status: 501, oneOf: []int{400, 405}}},
		row{"GET *", message{target: "*"}, want{status: 400, oneOf: []int{404, 405, 501}}},
		row{"CONNECT host:port", message{method: "CONNECT", target: "evil.example:443", host: "evil.example:443"}, want{status: 501, oneOf: []int{400, 405, 421}}},
		row{"CONNECT own host", message{method: "CONNECT", target: w.address}, want{status: 501, oneOf: []int{400, 405}}},
		row{"CONNECT a path", message{method: "CONNECT", target: vm + q}, want{status: 501, oneOf: []int{400, 405}}},
		row{"a method of 300 letters", message{method: strings.Repeat("X", 300), target: vm + q}, want{status: 501, oneOf: []int{400, 405, 431}}},
		row{"a method with a comma", message{method: "GET,PUT", target: vm + q}, want{status: 400, oneOf: []int{405, 501}}},
		row{"X-HTTP-Method-Override", message{method: "POST", target: vm + "/start" + q, header: []string{"X-HTTP-Method-Override: DELETE", "X-Method-Override: DELETE"}},
			want{status: 200, reaches: "westus"}},
		row{"the resource is still there", message{target: vm + q}, want{status: 200, reaches: "westus"}},
	)
	w.table(t, rows)

	t.Run("the metrics know no method of a client's making", func(t *testing.T) {
		text := string(w.call(t, "GET", "http://"+w.admin+"/metrics"))
		for _, method := range []string{`"FOO"`, `"PROPFIND"`, `"LINK"`, `"XXX`} {
			if strings.Contains(text, method) {
				t.Errorf("a metric is labelled %s", method)
			}
		}
		if !strings.Contains(text, "portico_") {
			t.Error("no metric of the gateway's own was found")
		}
	})
}
