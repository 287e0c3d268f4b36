package wire

import (
	"net/url"
	"strings"
	"testing"
)

func testNames(t *testing.T, w *world) {
	t.Run("groups", func(t *testing.T) { groupNames(t, w) })
	t.Run("namespaces", func(t *testing.T) { namespaces(t, w) })
	t.Run("types", func(t *testing.T) { typeNames(t, w) })
	t.Run("resources", func(t *testing.T) { resourceNames(t, w) })
	t.Run("casing", func(t *testing.T) { casing(t, w) })
}

// A group name is 1 to 90 Unicode letters, decimal digits and any of - _ . ( ), not
// ending in a full stop.
func groupNames(t *testing.T, w *world) {
	const q = "?" + V
	var rows []row
	for _, name := range []string{
		"RG", "a", ".a", "a.b", "(a)", "-", "_", "é", "日本", "...a", "providers", "١٢", "0", "resourceGroups",
		strings.Repeat("x", 90), strings.Repeat("日", 90), strings.Repeat("y", 89) + ")",
	} {
		target := S + "/resourceGroups/" + url.PathEscape(name) + q
		rows = append(rows,
			row{"put " + name, message{method: "PUT", target: target, body: `{"location":"westus"}`},
				want{status: 201, check: body("name", name, "id", S+"/resourceGroups/"+name)}},
			row{"get " + name, message{target: target}, want{status: 200, check: body("name", name)}},
		)
	}
	for name, bad := range map[string]string{
		"a b": " ", "a&b": "&", "a:b": ":", "a<b>": "<>", "a?b": "?", "a#b": "#", "a+b": "+", "a*b,c": "*,",
		"a@b": "@", "a'b": "'", "a~b": "~", "a\u00b2": "\u00b2", "a\u2160": "\u2160", "a\u0301": "\u0301", "\U0001F600": "\U0001F600",
		"pathſ": "ſ", "\u212a": "\u212a", "ıİ": "ıİ", "a\u200b": "\u200b", "a\u3164": "\u3164",
	} {
		rows = append(rows, row{"refused " + name, message{method: "PUT", target: S + "/resourceGroups/" + url.PathEscape(name) + q, body: `{"location":"westus"}`},
			want{status: 400, code: "InvalidResourceGroup", about: "resourceGroupName",
				text: "The provided resource group name '" + name + "' has these invalid characters: '" + bad + "'. The name can only be a letter, digit, '-', '.', '(', ')' or '_'."}})
	}
	for name, c := range map[string]struct {
		escaped string
		want    want
	}{
		"a.": {"a.", endsInAStop("a.")}, "(a).": {"(a).", endsInAStop("(a).")},
		"91 chars":                  {strings.Repeat("x", 91), tooLong(strings.Repeat("x", 91))},
		"91 letters of three bytes": {strings.Repeat(url.PathEscape("日"), 91), tooLong(strings.Repeat("日", 91))},
		"\u212b":                    {"%E2%84%AB", notComposed("\u212b")}, "\u1112\u1161": {"%E1%84%92%E1%85%A1", notComposed("\u1112\u1161")},
		// It looks like a doubly escaped path.
		"a%b": {"a%25b", want{status: 400, code: "InvalidRequestUri", text: "The request URI is invalid: a path is encoded once."}},
	} {
		rows = append(rows,
			row{"refused " + name, message{method: "PUT", target: S + "/resourceGroups/" + c.escaped + q, body: `{"location":"westus"}`}, c.want},
			row{"refused below " + name, message{target: S + "/resourceGroups/" + c.escaped + "/providers/Contoso.Compute/virtualMachines/n" + q}, c.want},
		)
	}
	rows = append(rows,
		row{"empty", message{method: "PUT", target: S + "/resourceGroups/" + q, body: `{"location":"westus"}`},
			want{status: 405, code: "MethodNotAllowed", text: "The requested resource does not support http method 'PUT'."}},
		row{"a/b", message{method: "PUT", target: S + "/resourceGroups/a/b" + q, body: `{"location":"westus"}`}, notFound(S + "/resourceGroups/a/b")},
		row{"absent", message{target: S + "/resourceGroups/names-absent" + q},
			want{status: 404, code: "ResourceGroupNotFound", text: "Resource group 'names-absent' could not be found."}},
		row{"resource in an absent group", message{method: "PUT", target: S + "/resourceGroups/names-absent/providers/Contoso.Compute/virtualMachines/n" + q, body: located("westus")},
			want{status: 404, code: "ResourceGroupNotFound", text: "Resource group 'names-absent' could not be found."}},
		row{"list in an absent group", message{target: S + "/resourceGroups/names-absent/providers/Contoso.Compute/virtualMachines" + q},
			want{status: 404, code: "ResourceGroupNotFound", text: "Resource group 'names-absent' could not be found."}},
		row{"delete of an absent group", message{method: "DELETE", target: S + "/resourceGroups/names-absent" + q},
			want{status: 404, code: "ResourceGroupNotFound", text: "Resource group 'names-absent' could not be found."}},
	)
	w.table(t, rows)
}

// endsInAStop, notComposed, tooLong and invalidName are the answers to such names.
func endsInAStop(group string) want {
	return want{status: 400, code: "InvalidResourceGroup", about: "resourceGroupName",
		text: "The provided resource group name '" + group + "' ends with a full stop. The last character can only be a letter, digit, '-', '(', ')' or '_'."}
}

func notComposed(group string) want {
	return want{status: 400, code: "InvalidResourceGroup", about: "resourceGroupName",
		text: "The provided resource group name '" + group + "' is not in Unicode normalization form C."}
}

func tooLong(group string) want {
	return want{status: 400, code: "InvalidResourceGroup", about: "resourceGroupName",
		text: "The provided resource group name '" + group + "' is longer than 90 characters."}
}

func invalidName(name string) want {
	return want{status: 400, code: "InvalidResourceName", about: "resourceName",
		text: "The provided resource name '" + name + `' is invalid. A name has 1 to 260 characters and cannot include '<', '>', '%', '&', ':', '\', '?', '/' or control characters.`}
}

// A namespace is ASCII letters, digits and full stops, and matches without
// case.
func namespaces(t *testing.T, w *world) {
	const q = "?" + V
	g := w.group(t, "names-namespaces")
	vm := w.machine(t, g, "n", "westus")
	lower := strings.Replace(vm, "Contoso.Compute", "contoso.compute", 1)
	rows := []row{
		{"lower case", message{target: lower + q}, want{status: 200, reaches: "westus"}},
		{"upper case", message{target: strings.ToUpper(vm) + q}, want{status: 200, reaches: "westus"}},
	}
	for _, ns := range []string{"Contoso-Compute", "Contoso_Compute", "Contóso.Compute", "Contoso Compute", "Contoso.Compute(1)", "Contoso.\u212aompute", "Contoso.Compute;v=1", "Contoso..Compute", ".Contoso"} {
		escaped := strings.ReplaceAll(url.PathEscape(ns), "%3B", ";")
		malformed := want{status: 400, code: "InvalidResourceNamespace", about: "resourceProviderNamespace", text: "The resource namespace '" + ns + "' is invalid."}
		rows = append(rows,
			row{"malformed " + ns, message{target: g + "/providers/" + escaped + "/virtualMachines/n" + q},
				malformed},
			row{"malformed at the subscription " + ns, message{target: S + "/providers/" + escaped + q},
				malformed},
		)
	}
	for _, ns := range []string{"Contoso.Unknown", "Microsoft", "microsoft.compute", "Contoso", "1"} {
		text := "The resource namespace '" + ns + "' is invalid."
		rows = append(rows,
			row{"unknown " + ns, message{target: g + "/providers/" + ns + "/virtualMachines/n" + q}, want{status: 404, code: "InvalidResourceNamespace", text: text, about: "resourceProviderNamespace"}},
			row{"unknown at the subscription " + ns, message{target: S + "/providers/" + ns + q}, want{status: 404, code: "InvalidResourceNamespace", text: text, about: "resourceProviderNamespace"}},
			row{"unknown at the tenant " + ns, message{target: "/providers/" + ns + "/operations" + q}, want{status: 404, code: "InvalidResourceNamespace", text: text, about: "resourceProviderNamespace"}},
			row{"unknown, register " + ns, message{method: "POST", target: S + "/providers/" + ns + "/register" + q}, want{status: 404, code: "InvalidResourceNamespace", text: text, about: "resourceProviderNamespace"}},
		)
	}
	w.table(t, rows)
}

// A type is ASCII letters and digits, and matches without case.
func typeNames(t *testing.T, w *world) {
	const q = "?" + V
	g := w.group(t, "names-types")
	vm := w.machine(t, g, "n", "westus")
	ns := g + "/providers/Contoso.Compute/"
	rows := []row{
		{"VIRTUALMACHINES", message{target: ns + "VIRTUALMACHINES/n" + q}, want{status: 200, reaches: "westus"}},
		{"Virtualmachines", message{target: ns + "Virtualmachines/n/DISKS" + q}, want{status: 200, reaches: "westus"}},
	}
	for _, name := range []string{"virtual-machines", "virtual_machines", "virtual.machines", "virtual machines", "virtualMachiné", "virtualMachine\u017f", "virtualMachines;v=1", "(virtualMachines)"} {
		escaped := strings.ReplaceAll(url.PathEscape(name), "%3B", ";")
		malformed := want{status: 400, code: "InvalidResourceType", about: "resourceType",
			text: "The resource type '" + name + "' is malformed: it has ASCII letters and digits only."}
		rows = append(rows,
			row{"malformed " + name, message{target: ns + escaped + "/n" + q}, malformed},
			row{"malformed, nested " + name, message{target: vm + "/" + escaped + "/n" + q}, malformed},
			row{"malformed, list " + name, message{target: S + "/providers/Contoso.Compute/" + escaped + q}, malformed},
		)
	}
	unknown := want{status: 404, code: "InvalidResourceType", about: "resourceType",
		text: "The resource type could not be found in the namespace 'Contoso.Compute' for api version '2024-01-01'."}
	rows = append(rows,
		row{"unknown", message{target: ns + "unknowns/n" + q}, unknown},
		row{"unknown, put", message{method: "PUT", target: ns + "unknowns/n" + q, body: located("westus")}, unknown},
		row{"unknown, one letter", message{target: ns + "a/n" + q}, unknown},
		row{"unknown, list", message{target: S + "/providers/Contoso.Compute/unknowns" + q}, unknown},
		row{"unknown, nested", message{target: vm + "/unknowns/n" + q}, unknown},
		row{"unknown, of another namespace", message{target: ns + "workspaces/n" + q}, unknown},
		row{"unknown, deeper than declared", message{target: vm + "/disks/d/disks/e" + q}, unknown},
	)
	w.table(t, rows)
}

// unclearNames are names under which some servers find another resource, with the
// reason.
var unclearNames = map[string]string{
	"a.": "it ends with a full stop", "...": "it ends with a full stop",
	" a": "it begins or ends with a space", "a ": "it begins or ends with a space",
	"a\u00a0b": "it holds the character U+00A0, which is not a printed one", "a\u200b": "it holds the character U+200B, which is not a printed one",
	"a\u061cb": "it holds the character U+061C, which is not a printed one", "a\u202eb": "it holds the character U+202E, which is not a printed one",
	"a\u2028": "it holds the character U+2028, which is not a printed one", "a\ufe0f": "it holds the character U+FE0F, which is not a printed one",
	"\u212a":  "it holds the letter '\u212a' (U+212A), of which some servers make an ASCII letter",
	"\u0131":  "it holds the letter '\u0131' (U+0131), of which some servers make an ASCII letter",
	"\u0130":  "it holds the letter '\u0130' (U+0130), of which some servers make an ASCII letter",
	"\u017f":  "it holds the letter '\u017f' (U+017F), of which some servers make an ASCII letter",
	"e\u0301": "it is not in Unicode normalization form C", "\u212b": "it is not in Unicode normalization form C",
}

// A resource name is 1 to 260 characters, none of < > % & : \ ? / and no control
// character. Ambiguous names are refused.
func resourceNames(t *testing.T, w *world) {
	const q = "?" + V
	g := w.group(t, "names-resources")
	at := g + "/providers/Contoso.Compute/virtualMachines/"
	var rows []row
	for _, name := range []string{
		"a", ".a", "a b", "a#b", "a+b", "a;v=1", "a,b", "a=b", "a'b", `a"b`, "a@b", "a!b", "a~b", "a|b", "{a}", "$a", "*", "..a", "a..b", "é", "日本", "\U0001F600",
		"subscriptions", "locations", "operations", "k",
		strings.Repeat("x", 260), strings.Repeat("日", 260),
	} {
		target := at + url.PathEscape(name) + q
		rows = append(rows,
			row{"put " + name, message{method: "PUT", target: target, body: located("eastus")}, want{status: 201, reaches: "eastus", check: body("name", name)}},
			row{"get " + name, message{target: target}, want{status: 200, reaches: "eastus", check: body("name", name)}},
		)
	}
	for _, name := range []string{"a<b", "a>b", "a&b", "a:b"} {
		rows = append(rows,
			row{"refused " + name, message{method: "PUT", target: at + url.PathEscape(name) + q, body: located("eastus")},
				invalidName(name)},
			row{"refused, nested " + name, message{target: at + "a/disks/" + url.PathEscape(name) + q}, invalidName(name)},
			row{"refused, extension " + name, message{target: at + "a/providers/Contoso.Insight/diagnosticSettings/" + url.PathEscape(name) + q},
				invalidName(name)},
		)
	}
	for name, long := range map[string]string{
		"261 chars": strings.Repeat("x", 261), "300 chars": strings.Repeat("x", 300), "261 letters of three bytes": strings.Repeat("日", 261),
	} {
		rows = append(rows, row{"refused " + name, message{method: "PUT", target: at + url.PathEscape(long) + q, body: located("eastus")}, invalidName(long)})
	}
	for name, why := range unclearNames {
		refused := want{status: 400, code: "InvalidResourceName", about: "resourceName", text: "The provided resource name '" + name + "' is invalid: " + why + "."}
		rows = append(rows,
			row{"refused " + name, message{method: "PUT", target: at + url.PathEscape(name) + q, body: located("eastus")}, refused},
			row{"refused, read " + name, message{target: at + url.PathEscape(name) + q}, refused},
			row{"refused, nested " + name, message{target: at + "a/disks/" + url.PathEscape(name) + q}, refused},
		)
	}
	uri := func(why string) want {
		return want{status: 400, code: "InvalidRequestUri", text: "The request URI is invalid: " + why + "."}
	}
	for escaped, expected := range map[string]want{
		"a%3Fb": invalidName("a?b"), "a%C2%85b": invalidName("a\u0085b"), "a%25b": uri("a path is encoded once"), "a%5Cb": uri("a path holds no backslash"),
		"a%2Fb": uri("a segment holds no encoded slash"), "a%01b": uri("a path holds no control character"),
	} {
		rows = append(rows, row{"refused " + escaped, message{method: "PUT", target: at + escaped + q, body: located("eastus")}, expected})
	}
	w.table(t, rows)
}

// Literals, groups, names, namespaces and types match without case; the casing of the
// latest PUT or PATCH is stored and returned; reads change nothing.
func casing(t *testing.T, w *world) {
	const q = "?" + V
	g := w.group(t, "Names-Casing")
	vm := w.machine(t, g, "Machine", "northeurope")
	lower, upper := strings.ToLower(vm), strings.ToUpper(vm)
	shouted := S + "/RESOURCEGROUPS/NAMES-CASING/PROVIDERS/CONTOSO.COMPUTE/VIRTUALMACHINES/MACHINE"
	w.table(t, []row{
		{"read in capitals", message{target: upper + q}, want{status: 200, reaches: "northeurope", check: body("name", "Machine")}},
		{"read in lower case", message{target: lower + q}, want{status: 200, reaches: "northeurope", check: body("name", "Machine")}},
		{"reads changed nothing", message{target: g + "/resources" + q}, want{status: 200, check: listing("name", "Machine")}},
		{"the same resource in another casing and region", message{method: "PUT", target: upper + q, body: located("westus")},
			want{status: 409, code: "InvalidResourceLocation",
				text: "The resource 'MACHINE' already exists in location 'northeurope' in resource group 'NAMES-CASING'. A resource with the same name cannot be created in location 'westus'. Please select a new resource name."}},
		{"put in capitals", message{method: "PUT", target: shouted + q, body: located("northeurope")},
			want{status: 200, reaches: "northeurope", check: body("name", "MACHINE")}},
		{"the latest put's casing", message{target: g + "/resources" + q}, want{status: 200, check: listing("name", "MACHINE")}},
		{"patch in lower case", message{method: "PATCH", target: lower + q, body: `{"tags":{"a":"b"}}`}, want{status: 200, reaches: "northeurope"}},
		{"the latest patch's casing", message{target: g + "/resources" + q}, want{status: 200, check: listing("name", "machine")}},
		{"the group as it was made", message{target: strings.ToLower(g) + q}, want{status: 200, check: body("name", "Names-Casing")}},
		{"the group put again", message{method: "PUT", target: strings.ToUpper(g) + q, body: `{"location":"West US"}`}, want{status: 200, check: body("name", "NAMES-CASING")}},
		{"a look-alike letter is another name", message{target: g + "/providers/Contoso.Compute/virtualMachines/m%D0%B0chine" + q},
			want{status: 404, code: "ResourceNotFound"}},
	})
}
