package wire

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// Parts of a provider's answer that concern the connection or the gateway do not pass;
// invalid HTTP becomes an error of the gateway's own.
func testProviderAnswers(t *testing.T, w *world) {
	const q = "?" + V
	g := w.group(t, "answers")
	// answering creates a resource whose provider gives this answer from then on. Each
	// case has its own, because the effect of an answer (a 404) may last.
	created := 0
	answering := func(t *testing.T, answer string) message {
		t.Helper()
		created++
		thing := w.thing(t, g, fmt.Sprintf("answers-%d-", created), "westus")
		w.scripted["westus"].on(thing, always(answer))
		return message{target: thing + q}
	}
	scripted := func(name, answer string, expected want) {
		t.Run(name, func(t *testing.T) {
			w.run(t, row{message: answering(t, answer), want: expected})
		})
	}
	const good = `{"id":"x"}`

	scripted("H12 hop-by-hop headers", ok(200, good,
		"Connection: X-Hop, Content-Language", "Connection: X-Hop-Two", "X-Hop: "+evil, "X-Hop-Two: "+evil, "Keep-Alive: "+evil, "Proxy-Authenticate: "+evil, "Proxy-Connection: "+evil,
		"Te: "+evil, "Upgrade: "+evil, "Alt-Svc: "+evil, "X-Kept: kept", "x-ms-correlation-request-id: "+evil, "x-ms-correlation-request-id: "+evil, "x-ms-routing-request-id: "+evil),
		want{status: 200, reaches: "raw westus", check: func(t *testing.T, got reply, reached []received) {
			if strings.Contains(got.String(), evil) {
				t.Errorf("the provider's headers reached the client: %s", got)
			}
			for _, name := range []string{"Connection", "Keep-Alive", "Proxy-Authenticate", "Te", "Upgrade", "Alt-Svc", "X-Hop", "Trailer"} {
				if values := got.header.Values(name); len(values) != 0 && name != "Connection" {
					t.Errorf("%s: %q", name, values)
				}
			}
			if got.header.Get("X-Kept") != "kept" {
				t.Error("X-Kept is gone")
			}
			ids(t, got)
			if len(reached) == 1 && reached[0].header.Get("x-ms-correlation-request-id") != got.header.Get("x-ms-correlation-request-id") {
				t.Error("the client and the provider were told different correlation ids")
			}
		}})
	scripted("H12 Connection names the gateway's headers", ok(200, good, "Connection: x-ms-correlation-request-id, x-ms-routing-request-id, x-ms-request-id"),
		want{status: 200, reaches: "raw westus", check: func(t *testing.T, got reply, _ []received) {
			for _, name := range []string{"x-ms-correlation-request-id", "x-ms-routing-request-id"} {
				if len(got.header.Values(name)) != 1 {
					t.Errorf("%s: %q", name, got.header.Values(name))
				}
			}
		}})
	scripted("the provider's own request id is kept", ok(200, good, "x-ms-request-id: compound/1:2"), want{status: 200, reaches: "raw westus", check: func(t *testing.T, got reply, _ []received) {
		if values := got.header.Values("x-ms-request-id"); len(values) != 1 || values[0] != "compound/1:2" {
			t.Errorf("x-ms-request-id %q", values)
		}
	}})
	// A 404 would make the front door probe.
	scripted("an error's cause is told by the gateway alone", ok(409, `{"error":{"code":"Odd","message":"m"}}`, "x-ms-failure-cause: gateway"), want{status: 409, reaches: "raw westus",
		check: func(t *testing.T, got reply, _ []received) {
			if values := got.header.Values("x-ms-failure-cause"); len(values) != 1 || values[0] != "service" {
				t.Errorf("x-ms-failure-cause %q", values)
			}
			if code := got.failure(t).Error.Code; code != "Odd" {
				t.Errorf("error.code %q", code)
			}
		}})
	for _, status := range []int{429, 503} {
		scripted(fmt.Sprintf("Retry-After on a provider's %d", status), ok(status, `{"error":{"code":"Busy","message":"m"}}`, "Retry-After: 3600"), want{status: status, either: true,
			check: func(t *testing.T, got reply, _ []received) {
				if v := got.header.Get("Retry-After"); v != "3600" || got.failure(t).Error.Code != "Busy" {
					t.Errorf("want the provider's answer as it is: %s", got)
				}
			}})
	}
	scripted("an interim answer first", "HTTP/1.1 103 Early Hints\r\nLink: <x>; rel=preload\r\n\r\n"+ok(200, good), want{status: 200, reaches: "raw westus"})
	scripted("a close-delimited body", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"+good, want{status: 200, reaches: "raw westus", check: func(t *testing.T, got reply, _ []received) {
		if string(got.body) != good {
			t.Errorf("body %q", got.body)
		}
	}})
	scripted("no content", "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", want{status: 204, reaches: "raw westus"})

	failure := want{status: 502, code: "BadGatewayConnection", either: true, // some are retried
		text: "The network connectivity issue encountered for 'Contoso.Raw' in the location 'westus'; cannot fulfill the request.", about: "westus"}
	for name, answer := range map[string]string{
		"101":     "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade, X-Hop\r\nUpgrade: h2c\r\nX-Hop: " + evil + "\r\n\r\n" + evil,
		"no HTTP": evil + "\r\n\r\n", "HTTP/2 preface": "PRI * HTTP/2.0\r\n\r\n", "a status of two digits": "HTTP/1.1 20 OK\r\n\r\n", "status 099": "HTTP/1.1 099 X\r\nContent-Length: 0\r\n\r\n",
		"status of letters": "HTTP/1.1 abc OK\r\nContent-Length: 0\r\n\r\n", "a header without a colon": "HTTP/1.1 200 OK\r\n" + evil + "\r\nContent-Length: 0\r\n\r\n",
		"two lengths": "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}x", "a length of letters": "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n{}",
		"an unknown transfer encoding": "HTTP/1.1 200 OK\r\nTransfer-Encoding: x" + evil + "\r\n\r\n{}", "headers of 128 KiB": "HTTP/1.1 200 OK\r\nX-A: " + strings.Repeat("x", 128<<10) + "\r\nContent-Length: 2\r\n\r\n{}",
		"hang up": hangUp, "reset": reset, "an endless status line": "HTTP/1.1 200 " + strings.Repeat("x", 256<<10),
	} {
		scripted("H12 "+name, answer, failure)
	}
	scripted("a known length over 8 MiB", ok(200, `"`+strings.Repeat("x", 9<<20)+`"`), want{status: 500, code: "ResponseTooLarge", reaches: "raw westus",
		text: "The response of 'Contoso.Raw' exceeds the maximum size of 8 MB and was dropped."})

	// A truncated message stays broken: it is never completed.
	for name, answer := range map[string]string{
		"a length that is not reached":   "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\nConnection: close\r\n\r\n{\"id\":",
		"chunks without an end":          "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n6\r\n{\"id\":\r\n",
		"a chunk's size of letters":      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n6\r\n{\"id\":\r\nzz\r\n",
		"over 8 MiB of unknown length":   "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n\"" + strings.Repeat("x", 9<<20) + "\"",
		"a reset in mid-body by closing": "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\nConnection: close\r\n\r\n" + strings.Repeat(" ", 500_000),
	} {
		t.Run("broken off: "+name, func(t *testing.T) {
			get := answering(t, answer)
			c := dial(t, w.address)
			if _, err := c.Write(get.bytes(w.address)); err != nil {
				t.Fatal(err)
			}
			got, err := readReply(bufio.NewReader(c), http.MethodGet)
			if err == nil && got.status/100 != 5 {
				t.Errorf("a broken answer came out whole: %d with %d bytes", got.status, len(got.body))
			}
		})
	}
	scripted("and the next request is served", ok(200, good), want{status: 200, reaches: "raw westus"})

	// Redirects pass to the client and are never followed.
	own := w.scripted["westus"].url
	const foreign = "https://elsewhere.example/a?b=c"
	for _, c := range []struct {
		status         int
		location, want string
	}{
		{307, own + "/subscriptions/x?y=z", publicURL + "/subscriptions/x?y=z"},
		{307, foreign, foreign},
		{303, foreign, foreign},
	} {
		scripted(fmt.Sprintf("%d to %s", c.status, strings.Replace(c.location, own, "(the provider)", 1)), ok(c.status, "", "Location: "+c.location),
			want{status: c.status, reaches: "raw westus", check: func(t *testing.T, got reply, _ []received) {
				if v := got.header.Values("Location"); len(v) != 1 || v[0] != c.want {
					t.Errorf("Location %q, want %q", v, c.want)
				}
			}})
	}
}
