package wire

import (
	"strings"
	"testing"
)

// The client gets a polling URL in the provider's form if it can send it together with
// a long token, else one of the gateway's own. It is lost only if its path is too long
// for any request.
func testLongLinks(t *testing.T, w *world) {
	const q = "?" + V
	g := w.group(t, "long-links")
	thing := w.thing(t, g, "long-links", "westus")
	own := w.scripted["westus"].url
	token := []string{"X-Filler: " + strings.Repeat("t", 7<<10)}
	const at = S + "/providers/Contoso.Raw/locations/westus/operations/long"
	long := func(bytes int) string {
		return at + "?userContext=" + strings.Repeat("a", bytes-len(at)-len("?userContext="))
	}
	for name, c := range map[string]struct {
		target string
		itself bool
		status int
	}{
		"as long as a client's may be":    {long(8 << 10), true, 200},
		"longer than that":                {long(8<<10 + 1), false, 200},
		"almost all headers of an answer": {long(60 << 10), false, 200},
		"a path that no request has":      {at + strings.Repeat("p", 32<<10), false, 501},
	} {
		for _, header := range []string{"Location", "Azure-AsyncOperation"} {
			t.Run(header+" "+name, func(t *testing.T) {
				w.scripted["westus"].on(thing+"/act", always(ok(202, "", header+": "+own+c.target)))
				w.scripted["westus"].on("/operations/long", always(ok(200, `{"status":"Succeeded"}`)))
				got := w.must(t, message{method: "POST", target: thing + "/act" + q}, 202)
				values := got.header.Values(header)
				if len(values) != 1 || (values[0] == publicURL+c.target) != c.itself {
					t.Fatalf("%s: %.300q", header, values)
				}
				expected := want{status: c.status, reaches: "raw westus", as: c.target}
				if c.status == 501 {
					expected = want{status: 501, code: "InternalServerError", text: "The outcome of the operation is unknown: there is nothing at the provider 'Contoso.Raw' that tells of it."}
				}
				w.run(t, row{message: message{target: strings.TrimPrefix(values[0], publicURL), header: token}, want: expected})
			})
		}
	}
}
