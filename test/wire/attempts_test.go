package wire

import (
	"fmt"
	"strings"
	"testing"
)

// R2: a client's write is sent once, whatever the answer and the headers. Go's own
// transport would repeat some of these by itself.
func testOneAttempt(t *testing.T, w *world) {
	const q = "?" + V
	g := w.group(t, "attempts")
	n := 0
	for _, method := range []string{"POST", "PATCH", "PUT", "DELETE"} {
		for name, answer := range map[string]string{
			"500": ok(500, `{"error":{"code":"Broken","message":"m"}}`), "502": ok(502, `{"error":{"code":"Broken","message":"m"}}`), "503": ok(503, `{"error":{"code":"Broken","message":"m"}}`, "Retry-After: 0"),
			"504": ok(504, `{"error":{"code":"Broken","message":"m"}}`), "429": ok(429, `{"error":{"code":"Broken","message":"m"}}`, "Retry-After: 0"), "408": ok(408, `{"error":{"code":"Broken","message":"m"}}`),
			"reset": reset, "hang up": hangUp, "half an answer": "HTTP/1.1 200 OK\r\nContent-Le", "408 and closed": "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n",
		} {
			for key, header := range map[string][]string{"": nil, " with Idempotency-Key": {"Idempotency-Key: 1"}, " with X-Idempotency-Key": {"X-Idempotency-Key: 1"}} {
				for _, withBody := range []bool{true, false} {
					if withBody == (method == "DELETE") || !withBody && (method == "PUT" || method == "PATCH") {
						continue
					}
					n++
					thing := fmt.Sprintf("%s/providers/Contoso.Raw/things/attempt-%d-", g, n)
					label := fmt.Sprintf("%s %s%s, body %v", method, name, key, withBody)
					t.Run(label, func(t *testing.T) {
						// Creating the resource also leaves a warm connection: a transport repeats by
						// itself only on a used one.
						w.must(t, message{method: "PUT", target: thing + q, body: located("westus")}, 201)
						w.scripted["westus"].on(thing, always(answer))
						m := message{method: method, target: thing + q, header: header}
						if method == "POST" {
							m.target = thing + "/act" + q
						}
						if withBody {
							m.body = located("westus")
						}
						w.forget(t)
						got := w.send(t, m)
						if got.status < 400 {
							t.Errorf("%s", got)
						}
						if strings.Contains(answer, "Broken") {
							if got.failure(t).Error.Code != "Broken" || got.header.Get("x-ms-failure-cause") != "service" {
								t.Errorf("want the provider's own error: %s", got)
							}
						}
						attempts := 0
						for _, x := range w.received(t) {
							if x.method == method {
								attempts++
							}
						}
						if attempts != 1 {
							t.Errorf("%d attempts on the wire: %v", attempts, w.received(t))
						}
					})
				}
			}
		}
	}
}
