package wire

import (
	"regexp"
	"strings"
	"testing"
)

// P12: a method that a route does not define is refused with the list of those that it
// does; a method that no route defines is refused everywhere.
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
		{"group", g, []string{"POST"}, []string{"GET", "HEAD", "PUT", "PATCH", "DELETE"}},
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
				text: "The requested resource does not support http method '" + method + "'.", check: func(t *testing.T, got reply, _ []received) {
					if allow := got.header.Values("Allow"); len(allow) != 1 || allow[0] != strings.Join(route.allowed, ", ") {
						t.Errorf("Allow: %q, want %q", allow, route.allowed)
					}
				}}})
		}
	}
	plain := func(t *testing.T, got reply, _ []received) {
		if strings.Contains(string(got.body), "secret-of-the-client") || got.header.Get("X-Canary") != "" {
			t.Errorf("the answer repeats the request: %s", got)
		}
	}
	unknown := want{status: 501, code: "NotImplemented", text: "The http method is not implemented.", check: plain}
	never := func(method string) want {
		return want{status: 405, code: "MethodNotAllowed", text: "The requested resource does not support http method '" + method + "'.", check: plain}
	}
	canary := []string{"X-Canary: secret-of-the-client"}
	for _, target := range []struct{ name, path string }{{"own route", g + q}, {"typed route", vm + q}, {"tenant root", "/" + q}, {"no route", "/none" + q}} {
		for _, method := range []string{"FOO", "PROPFIND", "get", "Put", "LINK"} {
			rows = append(rows, row{method + " on " + target.name, message{method: method, target: target.path, header: canary}, unknown})
		}
		for _, method := range []string{"TRACE", "OPTIONS"} {
			rows = append(rows, row{method + " on " + target.name, message{method: method, target: target.path, header: canary}, never(method)})
		}
	}
	rows = append(rows,
		// Except with POST, this is a collection of an unknown type.
		row{"PUT register", message{method: "PUT", target: S + "/providers/Contoso.Compute/register" + q, body: "{}"},
			want{status: 404, code: "InvalidResourceType", about: "resourceType", text: "The resource type could not be found in the namespace 'Contoso.Compute' for api version '2024-01-01'."}},
		row{"OPTIONS *", message{method: "OPTIONS", target: "*", header: canary}, never("OPTIONS")},
		row{"GET *", message{target: "*"}, want{status: 400, code: "InvalidRequestUri", text: "The request URI is invalid: a path begins with a slash."}},
		row{"CONNECT host:port", message{method: "CONNECT", target: "evil.example:443", host: "evil.example:443"}, want{status: 421, code: "MisdirectedRequest", about: "Host"}},
		row{"CONNECT own host", message{method: "CONNECT", target: w.address}, never("CONNECT")},
		row{"CONNECT a path", message{method: "CONNECT", target: vm + q}, never("CONNECT")},
		row{"a method of 300 letters", message{method: strings.Repeat("X", 300), target: vm + q}, unknown},
		row{"a method with a comma", message{method: "GET,PUT", target: vm + q}, want{status: 400}}, // no token: net/http's own
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
		if !regexp.MustCompile(`(?m)^portico_requests_total\{.*method="OTHER".*\} [1-9]`).MatchString(text) {
			t.Error("no request is counted as OTHER")
		}
	})
}
