package wire

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"portico/test/harness"
)

func testContent(t *testing.T, w *world) {
	t.Run("media types", func(t *testing.T) { mediaTypes(t, w) })
	t.Run("size", func(t *testing.T) { bodySize(t, w) })
	t.Run("written first", func(t *testing.T) { contentWrittenFirst(t, w) })
	t.Run("syntax", func(t *testing.T) { bodySyntax(t, w) })
	t.Run("members", func(t *testing.T) { bodyMembers(t, w) })
	t.Run("groups", func(t *testing.T) { groupBodies(t, w) })
}

func mediaTypes(t *testing.T, w *world) {
	const q = "?" + V
	g := w.group(t, "content-types")
	vm := w.machine(t, g, "n", "westus")
	var rows []row
	for _, kind := range []string{
		"application/json", "APPLICATION/JSON", "Application/Json", "application/json; charset=utf-8", "application/json; charset=utf8", "application/json;charset=UTF-8",
		"  application/json  ", "application/json ; charset=utf-8", `application/json; charset="utf-8"`,
	} {
		header := []string{"Content-Type: " + kind}
		rows = append(rows,
			row{"put " + kind, message{method: "PUT", target: vm + q, header: header, body: located("westus")}, want{status: 200, reaches: "westus"}},
			row{"put group " + kind, message{method: "PUT", target: g + q, header: header, body: located("westus")}, want{status: 200}},
			row{"patch " + kind, message{method: "PATCH", target: vm + q, header: header, body: `{"tags":{}}`}, want{status: 200, reaches: "westus"}},
			row{"post " + kind, message{method: "POST", target: vm + "/start" + q, header: header, body: `{}`}, want{status: 200, reaches: "westus"}},
		)
	}
	for _, kind := range []string{
		"", "text/plain", "plain/text", "application/xml", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonx", "json",
		"text/html; application/json", "application/octet-stream", "application/json; charset=utf-7", "application/json; charset=utf-16", "/", ";", "application/", "*/*",
	} {
		header := []string{"Content-Type: " + kind}
		name := kind
		if kind == "" {
			header, name = []string{"Content-Type:"}, "none"
		}
		unsupported := want{status: 415, code: "UnsupportedMediaType", about: "Content-Type",
			text: "The content media type '" + kind + "' is not supported. Only 'application/json' is supported."}
		rows = append(rows,
			row{"put " + name, message{method: "PUT", target: vm + q, header: header, body: located("westus")}, unsupported},
			row{"put group " + name, message{method: "PUT", target: g + q, header: header, body: located("westus")}, unsupported},
			row{"patch " + name, message{method: "PATCH", target: vm + q, header: header, body: `{"tags":{}}`}, unsupported},
			row{"patch group " + name, message{method: "PATCH", target: g + q, header: header, body: `{"tags":{}}`}, unsupported},
			row{"post " + name, message{method: "POST", target: vm + "/start" + q, header: header, body: `{}`}, unsupported},
		)
	}
	for _, coding := range []string{"gzip", "deflate", "identity, br"} {
		header := []string{"Content-Type: application/json", "Content-Encoding: " + coding}
		unsupported := want{status: 415, code: "UnsupportedMediaType", about: "Content-Encoding",
			text: "The content encoding '" + coding + "' is not supported for this resource."}
		rows = append(rows,
			row{"put in " + coding, message{method: "PUT", target: vm + q, header: header, body: located("westus")}, unsupported},
			row{"put group in " + coding, message{method: "PUT", target: g + q, header: header, body: located("westus")}, unsupported},
			row{"post in " + coding, message{method: "POST", target: vm + "/start" + q, header: header, body: `{}`}, unsupported},
		)
	}
	rows = append(rows,
		row{"absent with an empty body, post", message{method: "POST", target: vm + "/start" + q}, want{status: 200, reaches: "westus"}},
		row{"absent with an empty body, register", message{method: "POST", target: S + "/providers/Contoso.Compute/register" + q}, want{status: 200}},
		row{"absent with an empty body, get", message{target: vm + q}, want{status: 200, reaches: "westus"}},
		row{"absent with an empty body, delete", message{method: "DELETE", target: vm + q}, want{status: 200, reaches: "westus"}},
	)
	w.table(t, rows)
}

// sized is a resource's body of exactly n bytes.
func sized(n int) string {
	const begin, end = `{"location":"westus","properties":{"x":"`, `"}}`
	return begin + strings.Repeat("x", n-len(begin)-len(end)) + end
}

const tooLarge = "The request content size exceeds the maximum size of 4 MB."

func bodySize(t *testing.T, w *world) {
	const q = "?" + V
	const most = 4 << 20
	g := w.group(t, "content-size")
	at := g + "/providers/Contoso.Raw/things/"
	chunked := func(body string) message {
		var b strings.Builder
		for len(body) > 0 {
			n := min(len(body), 64<<10)
			fmt.Fprintf(&b, "%x\r\n%s\r\n", n, body[:n])
			body = body[n:]
		}
		b.WriteString("0\r\n\r\n")
		return message{method: "PUT", header: []string{"Transfer-Encoding: chunked"}, body: b.String(), framed: true}
	}
	to := func(m message, target string) message { m.target = target; return m }
	plain := func(n int) message { return message{method: "PUT", body: sized(n)} }
	refused := want{status: 413, code: "RequestContentTooLarge", text: tooLarge}
	whole := func(n int) func(*testing.T, reply, []received) {
		return func(t *testing.T, _ reply, reached []received) {
			if len(reached) == 1 && len(reached[0].body) != n {
				t.Errorf("the provider got %d bytes, want %d", len(reached[0].body), n)
			}
		}
	}
	w.table(t, []row{
		{"4 MiB - 1", to(plain(most-1), at+"a"+q), want{status: 201, reaches: "raw westus", check: whole(most - 1)}},
		{"4 MiB", to(plain(most), at+"b"+q), want{status: 201, reaches: "raw westus", check: whole(most)}},
		{"4 MiB + 1", to(plain(most+1), at+"c"+q), refused},
		{"4 MiB, chunked", to(chunked(sized(most)), at+"d"+q), want{status: 201, reaches: "raw westus", check: whole(most)}},
		{"4 MiB + 1, chunked", to(chunked(sized(most+1)), at+"e"+q), refused},
		{"5 MB", to(plain(5_000_000), at+"f"+q), refused},
		{"5 MB, chunked", to(chunked(sized(5_000_000)), at+"g"+q), refused},
		{"4 MiB + 1, group", to(plain(most+1), S+"/resourceGroups/content-size-none"+q), refused},
		{"4 MiB + 1, patch", message{method: "PATCH", target: at + "a" + q, body: sized(most + 1)}, refused},
		{"4 MiB + 1, action", message{method: "POST", target: at + "a/do" + q, body: sized(most + 1)}, refused},
		{"an announced exabyte", message{method: "PUT", target: at + "h" + q, header: []string{"Content-Length: 1000000000000000000", "Content-Type: application/json"}, body: "{", framed: true},
			refused},
		{"what was refused is not there", message{target: at + "c" + q}, want{status: 404, code: "ResourceNotFound"}},
	})
}

// Clients that write all of their content before they read see why it was refused.
func contentWrittenFirst(t *testing.T, w *world) {
	const q = "?" + V
	g := w.group(t, "content-first")
	thing := g + "/providers/Contoso.Raw/things/a" + q
	chunk := fmt.Sprintf("%x\r\n%s\r\n", 1<<20, sized(1<<20))
	large := sized(64 << 20)
	for name, c := range map[string]struct {
		message
		status int
		code   string
	}{
		"just too large": {message{method: "PUT", target: thing, body: sized(4<<20 + 1)}, 413, "RequestContentTooLarge"},
		"far too large":  {message{method: "PUT", target: thing, body: large}, 413, "RequestContentTooLarge"},
		"chunked": {message{method: "PUT", target: thing, header: []string{"Transfer-Encoding: chunked"}, body: strings.Repeat(chunk, 64) + "0\r\n\r\n", framed: true},
			413, "RequestContentTooLarge"},
		"out of scope": {message{method: "PUT", target: g + "/providers/Microsoft.Resources/links/l" + q, body: large}, 400, "ResourceTypeNotSupported"},
	} {
		t.Run(name, func(t *testing.T) {
			conn := dial(t, w.address)
			if _, err := conn.Write(c.message.bytes(w.address)); err != nil {
				t.Fatal(err)
			}
			got, err := readReply(bufio.NewReader(conn), c.method)
			harness.OK(t, err)
			if code := got.failure(t).Error.Code; got.status != c.status || code != c.code {
				t.Errorf("%d %s, want %d %s", got.status, code, c.status, c.code)
			}
		})
	}
}

var position = regexp.MustCompile(`line (\d+), position (\d+)`)

// Invalid JSON is refused with line and position and reaches no provider.
func bodySyntax(t *testing.T, w *world) {
	const q = "?" + V
	g := w.group(t, "content-syntax")
	vm := w.machine(t, g, "n", "westus")
	type fault struct {
		name, body string
		line       int
	}
	faults := []fault{
		{"cut after {", `{`, 1},
		{"no value, third line", "{\n\"location\":\"westus\",\n\"x\":}", 3},
		{"text after the end", `{"location":"westus"} x`, 1},
		{"two values", "{\"location\":\"westus\"}\n{\"location\":\"eastus\"}", 2},
		{"nested in the fourth line", "{\n \"location\": \"westus\",\n \"properties\": {\n  \"a\": [1,,2]\n }\n}", 4},
		{"only white space", " \n ", 0},
		{"a byte order mark alone", "\ufeff", 0},
	}
	syntax := func(f fault) want {
		return want{status: 400, code: "InvalidRequestContent",
			like: "^" + quoteMeta("The request content was invalid and could not be deserialized: '") + "(?s:.*)" + quoteMeta("'.") + "$",
			check: func(t *testing.T, got reply, _ []received) {
				found := position.FindStringSubmatch(got.failure(t).Error.Message)
				if found == nil {
					t.Errorf("no line and position: %s", got.body)
					return
				}
				if f.line != 0 && found[1] != strconv.Itoa(f.line) {
					t.Errorf("line %s, want %d: %s", found[1], f.line, got.body)
				}
			}}
	}
	var rows []row
	for _, f := range faults {
		rows = append(rows,
			row{"put " + f.name, message{method: "PUT", target: vm + q, body: f.body}, syntax(f)},
			row{"create " + f.name, message{method: "PUT", target: g + "/providers/Contoso.Compute/virtualMachines/new" + q, body: f.body}, syntax(f)},
			row{"patch " + f.name, message{method: "PATCH", target: vm + q, body: f.body}, syntax(f)},
			row{"group " + f.name, message{method: "PUT", target: g + q, body: f.body}, syntax(f)},
		)
	}
	invalid := want{status: 400, code: "InvalidRequestContent"}
	for name, text := range map[string]string{"an array": `[]`, "a string": `"westus"`, "a number": `1`, "null": `null`, "true": `true`, "an array of objects": `[{"location":"westus"}]`} {
		rows = append(rows,
			row{"put " + name, message{method: "PUT", target: vm + q, body: text}, invalid},
			row{"create " + name, message{method: "PUT", target: g + "/providers/Contoso.Compute/virtualMachines/new" + q, body: text}, invalid},
			row{"group " + name, message{method: "PUT", target: g + q, body: text}, invalid},
			row{"patch group " + name, message{method: "PATCH", target: g + q, body: text}, invalid},
		)
	}
	empty := want{status: 400, code: "LocationRequired", text: "The location property is required for this definition.", about: "location"}
	rows = append(rows,
		row{"create, no body", message{method: "PUT", target: g + "/providers/Contoso.Compute/virtualMachines/new" + q}, empty},
		row{"group, no body", message{method: "PUT", target: S + "/resourceGroups/content-syntax-new" + q}, empty},
		row{"a fault beyond 64 KiB", message{method: "PUT", target: vm + q, body: `{"location":"westus","properties":{"x":"` + strings.Repeat("y", 100_000) + `"},}`}, invalid},
		row{"ten thousand brackets", message{method: "PUT", target: vm + q, body: `{"location":"westus","properties":` + strings.Repeat("[", 10_000)}, invalid},
		row{"a million brackets", message{method: "PUT", target: vm + q, body: `{"location":"westus","properties":` + strings.Repeat("[", 1_000_000) + strings.Repeat("]", 1_000_000) + `}`},
			want{status: 400, code: "InvalidRequestContent"}},
		row{"white space around", message{method: "PUT", target: vm + q, body: " \r\n\t{ \"location\" : \"westus\" } \n"}, want{status: 200, reaches: "westus"}},
		row{"an escaped name", message{method: "PUT", target: g + "/providers/Contoso.Compute/virtualMachines/escaped" + q, body: `{"loc\u0061tion":"\u0065astus"}`}, want{status: 201, reaches: "eastus"}},
		row{"location last, after much", message{method: "PUT", target: g + "/providers/Contoso.Compute/virtualMachines/last" + q,
			body: `{"properties":{"location":"westus","x":["{\"location\":\"westus\"}",{"location":"westus"}],"y":"` + strings.Repeat("z", 100_000) + `"},"location":"northeurope"}`},
			want{status: 201, reaches: "northeurope"}},
	)
	w.table(t, rows)
}

// location and tags at the top level must be unambiguous.
func bodyMembers(t *testing.T, w *world) {
	const q = "?" + V
	g := w.group(t, "content-members")
	vm := w.machine(t, g, "n", "westus")
	fresh := g + "/providers/Contoso.Compute/virtualMachines/new"
	invalid := want{status: 400, code: "InvalidRequestContent"}
	var rows []row
	for name, text := range map[string]string{
		"location twice, differing": `{"location":"westus","properties":{},"location":"eastus"}`,
		"Location alone":            `{"Location":"westus"}`,
		"tags twice":                `{"location":"westus","tags":{"a":"b"},"tags":{"a":"b"}}`,
		"location is a number":      `{"location":1}`,
		"tags are a string":         `{"location":"westus","tags":"a"}`,
		"a tag's value is a number": `{"location":"westus","tags":{"a":1}}`,
	} {
		rows = append(rows,
			row{"create, " + name, message{method: "PUT", target: fresh + q, body: text}, invalid},
			row{"put, " + name, message{method: "PUT", target: vm + q, body: text}, invalid},
			row{"group, " + name, message{method: "PUT", target: g + q, body: text}, invalid},
		)
	}
	for name, text := range map[string]string{
		"tags twice": `{"tags":{"a":"b"},"tags":{"a":"c"}}`, "tags and Tags": `{"tags":{"a":"b"},"Tags":{"a":"c"}}`, "location twice": `{"location":"westus","location":"westus"}`,
	} {
		rows = append(rows, row{"patch, " + name, message{method: "PATCH", target: vm + q, body: text}, invalid})
	}
	rows = append(rows,
		row{"location twice, below properties", message{method: "PUT", target: g + "/providers/Contoso.Raw/things/below" + q, body: `{"location":"westus","properties":{"location":"a","location":"b","Location":"c"}}`},
			want{status: 201, reaches: "raw westus"}},
		row{"other members twice", message{method: "PUT", target: g + "/providers/Contoso.Raw/things/twice" + q, body: `{"location":"westus","x":1,"x":2,"X":3}`}, want{status: 201, reaches: "raw westus"}},
		row{"tags are null", message{method: "PUT", target: vm + q, body: `{"location":"westus","tags":null}`}, want{status: 200, reaches: "westus"}},
		row{"a tag is null", message{method: "PUT", target: vm + q, body: `{"location":"westus","tags":{"a":null}}`}, invalid},
		row{"a tag is null in a patch", message{method: "PATCH", target: vm + q, body: `{"tags":{"a":null}}`}, invalid},
		row{"the envelope is null in a patch", message{method: "PATCH", target: vm + q, body: `{"properties":null}`}, want{status: 200, reaches: "westus"}},
		row{"a group's envelope is null in a patch", message{method: "PATCH", target: g + q, body: `{"properties":null}`}, want{status: 200}},
		row{"a group's location is null in a patch", message{method: "PATCH", target: g + q, body: `{"location":null}`}, want{status: 400, code: "LocationRequired", about: "location"}},
		row{"the location of a patch is the provider's affair", message{method: "PATCH", target: vm + q, body: `{"location":"eastus"}`}, want{status: 400, reaches: "westus"}},
	)
	w.table(t, rows)

	t.Run("the body reaches the provider byte by byte", func(t *testing.T) {
		const text = "{ \"properties\":{\"n\":12345678901234567890,\"e\":1e400,\"f\":1.10,\"s\":\"\\u003c<\\/\\u00e9é\"},\r\n\t\"location\" :\"East US\", \"z\":null,\"a\":[ ] }"
		w.run(t, row{message: message{method: "PUT", target: g + "/providers/Contoso.Raw/things/bytes" + q, body: text}, want: want{status: 201, reaches: "raw eastus",
			check: func(t *testing.T, _ reply, reached []received) {
				if len(reached) == 1 && string(reached[0].body) != text {
					t.Errorf("the provider got %q", reached[0].body)
				}
			}}})
	})
}

// Portico's own resources: a PUT of what a GET returned is accepted; one that
// contradicts the path or the state is refused.
func groupBodies(t *testing.T, w *world) {
	const q = "?" + V
	g := w.group(t, "content-groups")
	var whole map[string]any
	harness.OK(t, json.Unmarshal(w.must(t, message{target: g + q}, 200).body, &whole))
	text, err := json.Marshal(whole)
	harness.OK(t, err)
	invalid := func(what, member string) want {
		return want{status: 400, code: "InvalidRequestContent", about: member,
			text: "The request content was invalid and could not be deserialized: '" + what + ". Path '" + member + "''."}
	}
	put := func(body string) message { return message{method: http.MethodPut, target: g + q, body: body} }
	const unread = "The request content was invalid and could not be deserialized: '"
	w.table(t, []row{
		{"an unknown member", put("{\"location\":\"westus\",\n \"foo\":1}"), want{status: 400, code: "InvalidRequestContent", about: "foo",
			text: unread + "Could not find member 'foo'. Path 'foo', line 2, position 7.'."}},
		{"an unknown member below", message{method: "PATCH", target: g + q, body: `{"properties":{"foo":1}}`}, want{status: 400, code: "InvalidRequestContent", about: "properties.foo",
			text: unread + "Could not find member 'foo'. Path 'properties.foo', line 1, position 21.'."}},
		{"a member of another kind", put(`{"location":"westus","managedBy":[]}`), want{status: 400, code: "InvalidRequestContent", about: "managedBy",
			text: unread + "A value of the kind 'array' cannot stand here. Path 'managedBy', line 1, position 34.'."}},
		{"a patch of the location", message{method: "PATCH", target: g + q, body: located("eastus")}, want{status: 409, code: "InvalidResourceGroupLocation", about: "location",
			text: "Invalid resource group location 'eastus'. The Resource group already exists in location 'westus'."}},
		{"what was read", put(string(text)), want{status: 200}},
		{"the same in another casing", put(`{"id":"` + strings.ToUpper(g) + `","name":"CONTENT-GROUPS","type":"microsoft.resources/RESOURCEGROUPS","location":"WEST us","etag":"W/\"stale\""}`), want{status: 200}},
		{"a matching provisioningState", put(`{"location":"westus","properties":{"provisioningState":"Succeeded"}}`), want{status: 200}},
		{"another provisioningState", put(`{"location":"westus","properties":{"provisioningState":"Deleting"}}`), invalid("The provisioningState is read-only", "properties.provisioningState")},
		{"another name", put(`{"location":"westus","name":"other"}`), invalid("The member 'name' is not that of the request URI", "name")},
		{"another id", put(`{"location":"westus","id":"` + S + `/resourceGroups/other"}`), invalid("The member 'id' is not that of the request URI", "id")},
		{"another type", put(`{"location":"westus","type":"Microsoft.Resources/subscriptions"}`), invalid("The member 'type' is not that of the request URI", "type")},
	})
}
