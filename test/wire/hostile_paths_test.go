package wire

import (
	"net"
	"strings"
	"testing"
)

// A path that is malformed for any reason is refused before anything interprets it, and none is
// redirected: a redirect would leave the decision to the client.
func testHostilePaths(t *testing.T, w *world) {
	const q = "?" + V
	g := w.group(t, "paths")
	const c = "/providers/Contoso.Compute/virtualMachines"
	vm := w.machine(t, g, "n", "eastus")
	w.must(t, message{method: "PUT", target: vm + "/disks/d" + q, body: `{"properties":{}}`}, 200, 201)

	malformed := func(name, target, why string) row {
		return row{name, message{target: target}, want{status: 400, code: "InvalidRequestUri", text: "The request URI is invalid: " + why + "."}}
	}
	const (
		encodedSlash = "a segment holds no encoded slash"
		dots         = "a path has no dot segments"
		twice        = "a path is encoded once"
		empty        = "a segment is empty"
		control      = "a path holds no control character"
		backslash    = "a path holds no backslash"
		fragment     = "a request has no fragment"
		utf8         = "a path is UTF-8"
	)
	group := S + "/resourceGroups/"
	rows := []row{
		malformed("P1 group with an encoded slash", group+"g%2fproviders"+q, encodedSlash),
		malformed("P1 name with an encoded slash", vm+"%2Fdisks"+q, encodedSlash),
		malformed("P2 ..", group+"%2e%2e"+q, dots),
		malformed("P3 ..", group+".."+q, dots),
		malformed("P3 to the admin paths", "/subscriptions/../metrics"+q, dots),
		malformed("P4 ..%2f..%2fadmin", group+"..%2f..%2fadmin"+q, encodedSlash),
		malformed("P4 %252e%252e%252f", group+"%252e%252e%252f"+q, twice),
		malformed("P5 an empty type name", vm+"//d"+q, empty),
		{"P5 an empty resource name", message{target: g + c + "//disks/d" + q}, invalidName("")},
		{"P5 an empty group", message{target: S + "/resourceGroups/" + c + "/n" + q}, want{status: 400, code: "InvalidResourceGroup", text: "The provided resource group name '' is empty.", about: "resourceGroupName"}},
		{"P5 an empty subscription", message{target: "/subscriptions//resourceGroups/g" + q}, want{status: 400, code: "InvalidSubscriptionId", text: "The provided subscription identifier '' is malformed or invalid.", about: "subscriptionId"}},
		malformed("P5 an empty namespace", g+"/providers//virtualMachines/n"+q, empty),
		malformed("P7 %00", group+"a%00b"+q, control),
		malformed("P7 %0d%0a", group+"a%0d%0aX-Evil:%201"+q, control),
		malformed(`P8 \`, group+`a\b`+q, backslash),
		malformed("P8 %5c", group+"a%5cb"+q, backslash),
		malformed(`P8 ..\..`, group+`..\..\admin`+q, backslash),
		malformed("P9 #frag", vm+"#frag", fragment),
		malformed("P11 overlong %C0%AF", vm+"%C0%AF"+q, utf8),
		// net/http may refuse these first.
		{"P7 raw NUL", message{target: group + "a\x00b" + q}, want{status: 400}},
		{"P7 raw DEL", message{target: group + "a\x7fb" + q}, want{status: 400}},
		{"P7 raw tab", message{target: group + "a\tb" + q}, want{status: 400}},
		{"P2 a percent sign alone", message{target: group + "a%" + q}, want{status: 400}},
		{"P2 a percent sign with one digit", message{target: group + "a%2" + q}, want{status: 400}},
		{"P2 a percent sign with letters", message{target: group + "a%zz" + q}, want{status: 400}},
		{"a raw space in the path", message{target: group + "a b" + q}, want{status: 400}},

		{"P6 ;v=1", message{target: "/subscriptions/s;v=1/resourceGroups/g" + q}, want{status: 400, code: "InvalidSubscriptionId",
			text: "The provided subscription identifier 's;v=1' is malformed or invalid."}},
		{"P11 trailing . of a group", message{target: group + "paths." + q}, endsInAStop("paths.")},
		{"P11 Kelvin sign in a literal", message{target: "/subscriptions/" + subscription + "/re%C5%BFourceGroups" + q}, want{status: 404, code: "HttpResourceNotFound",
			text: "No HTTP resource was found that matches the request URI '" + S + "/re\u017fourceGroups'."}},
		{"P11 look-alike of a group", message{target: group + "p%D0%B0ths" + q}, want{status: 404, code: "ResourceGroupNotFound", text: "Resource group 'p\u0430ths' could not be found."}},
		{"P11 look-alike that some fold to the same", message{target: group + "path%C5%BF" + q}, want{status: 400, code: "InvalidResourceGroup", about: "resourceGroupName",
			text: "The provided resource group name 'path\u017f' has these invalid characters: '\u017f'. The name can only be a letter, digit, '-', '.', '(', ')' or '_'."}},
		{"P6 a semicolon goes on encoded", message{method: "PUT", target: g + c + "/n;v=1" + q, body: located("westus")}, want{status: 201, reaches: "westus", as: g + c + "/n%3Bv=1" + q}},
		{"P6 a semicolon that came encoded", message{target: g + c + "/n%3bv=1" + q}, want{status: 200, reaches: "westus", as: g + c + "/n%3Bv=1" + q}},
		{"P11 full-width letters", message{target: group + "%EF%BD%90aths" + q}, want{status: 404, code: "ResourceGroupNotFound", text: "Resource group '\uff50aths' could not be found."}},
		{"P11 300-char group", message{target: group + strings.Repeat("x", 300) + q}, tooLong(strings.Repeat("x", 300))},
		{"P11 300-char name", message{target: g + c + "/" + strings.Repeat("x", 300) + q}, invalidName(strings.Repeat("x", 300))},

		{"P5 doubled at the start", message{target: "/" + vm + q}, want{status: 200, reaches: "eastus", as: vm + q}},
		{"P5 many at the start", message{target: "////" + vm + q}, want{status: 200, reaches: "eastus", as: vm + q}},
		{"P5 doubled at the start, own route", message{target: "/" + g + q}, want{status: 200, check: body("name", "paths")}},
		{"P5 doubled at the start, put", message{method: "PUT", target: "/" + g + c + "/m" + q, body: located("westus")},
			want{status: 201, reaches: "westus", as: g + c + "/m" + q}},
		{"P5 doubled after the namespace", message{target: g + "/providers/Contoso.Compute//virtualMachines/n" + q},
			want{status: 200, reaches: "eastus", as: vm + q}},
		{"P5 doubled after the namespace, put", message{method: "PUT", target: g + "/providers/Contoso.Compute//virtualMachines/o" + q, body: located("northeurope")},
			want{status: 201, reaches: "northeurope", as: g + c + "/o" + q}},
		{"P5 doubled at the end", message{target: vm + "//" + q}, want{status: 200, reaches: "eastus", as: vm + q}},
		{"P10 literals in other casing", message{target: "/SUBSCRIPTIONS/" + subscription + "/resourcegroups/PATHS/PROVIDERS/contoso.compute/VIRTUALMACHINES/N" + q},
			want{status: 200, reaches: "eastus", check: body("name", "n")}},
		{"P11 trailing /", message{target: g + "/" + q}, want{status: 200, check: body("name", "paths")}},
		{"P11 trailing /, put", message{method: "PUT", target: g + c + "/p/" + q, body: located("westus")}, want{status: 201, reaches: "westus", as: g + c + "/p" + q}},
	}
	w.table(t, rows)

	// The same refusals apply to writes: a path is checked before its method.
	writes := []row{}
	for _, r := range rows {
		if r.status != 400 || r.code == "" {
			continue
		}
		m := r.message
		m.method, m.body = "PUT", located("eastus")
		writes = append(writes, row{"PUT " + r.name, m, r.want})
	}
	w.table(t, writes)

	// The second resource that a collapsed path created is the one that it names.
	w.table(t, []row{{"what a collapsed path made", message{target: g + c + "/o" + q}, want{status: 200, reaches: "northeurope", check: body("name", "o")}}})

	t.Run("P5 // is never a redirect", func(t *testing.T) {
		for _, target := range []string{"//" + strings.TrimPrefix(vm, "/") + q, vm + "//" + q, g + "/providers/Contoso.Compute//virtualMachines/n" + q, "//evil.example/x" + q, g + "/../x" + q} {
			got := w.send(t, message{target: target})
			if got.status/100 == 3 || got.header.Get("Location") != "" {
				t.Errorf("%s: %s", target, got)
			}
		}
	})
	t.Run("absolute form, own host", func(t *testing.T) {
		w.run(t, row{message: message{target: "http://" + w.address + vm + q}, want: want{status: 200, reaches: "eastus", as: vm + q}})
	})
	t.Run("absolute form, public host", func(t *testing.T) {
		host := strings.TrimPrefix(publicURL, "https://")
		w.run(t, row{message: message{target: publicURL + vm + q, host: host}, want: want{status: 200, reaches: "eastus", as: vm + q}})
	})
	t.Run("the listener's port under localhost", func(t *testing.T) {
		_, port, err := net.SplitHostPort(w.address)
		if err != nil {
			t.Fatal(err)
		}
		w.run(t, row{message: message{target: vm + q, host: "localhost:" + port}, want: want{status: 200, reaches: "eastus"}})
	})
}
