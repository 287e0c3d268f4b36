package wire

import (
	"bufio"
	"fmt"
	"strings"
	"testing"
)

// S1: what two readers may take for different messages is refused, or passed on as the
// one message that the gateway read. A request hidden in another's body never reaches a
// provider.
func testSmuggling(t *testing.T, w *world) {
	const q = "?" + V
	g := w.group(t, "smuggling")
	thing := w.thing(t, g, "smuggling", "westus")
	w.thing(t, g, "hidden", "westus")
	hidden := fmt.Sprintf("GET %s/providers/Contoso.Raw/things/hidden%s HTTP/1.1\r\nHost: %s\r\n\r\n", g, q, w.address)
	next := fmt.Sprintf("GET %s%s&next=1 HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", thing, q, w.address)
	head := func(method string, lines ...string) string {
		return fmt.Sprintf("%s %s%s HTTP/1.1\r\nHost: %s\r\n%s", method, thing, q, w.address, strings.Join(lines, ""))
	}
	body := located("westus")
	chunk := fmt.Sprintf("%x\r\n%s\r\n", len(body), body)
	const kind = "Content-Type: application/json\r\n"

	for _, c := range []struct {
		name    string
		raw     string
		refused bool // the first answer is an error
	}{
		{"CL+TE", head("PUT", kind, fmt.Sprintf("Content-Length: %d\r\n", len(chunk)+5), "Transfer-Encoding: chunked\r\n\r\n") + chunk + "0\r\n\r\n", true},
		{"CL+TE, the rest hidden behind the length", head("PUT", kind, fmt.Sprintf("Content-Length: %d\r\n", 5+len(hidden)), "Transfer-Encoding: chunked\r\n\r\n") + "0\r\n\r\n" + hidden, true},
		{"TE+CL, the rest hidden in a chunk", head("PUT", kind, "Transfer-Encoding: chunked\r\n", "Content-Length: 4\r\n\r\n") + fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(hidden), hidden), true},
		{"two Content-Lengths", head("PUT", kind, fmt.Sprintf("Content-Length: %d\r\n", len(body)), fmt.Sprintf("Content-Length: %d\r\n\r\n", len(body)+len(hidden))) + body + hidden, true},
		{"Content-Length with a sign", head("PUT", kind, fmt.Sprintf("Content-Length: +%d\r\n\r\n", len(body))) + body, true},
		{"Transfer-Encoding with a vertical tab", head("PUT", kind, "Transfer-Encoding: \vchunked\r\n\r\n") + chunk + "0\r\n\r\n", true},
		{"a space before the colon", head("PUT", kind, "Transfer-Encoding : chunked\r\n", fmt.Sprintf("Content-Length: %d\r\n\r\n", len(body))) + body, true},
		{"a control character in a value", head("GET", "X-A: a\x00b\r\n\r\n"), true},
		{"a bare CR in a value", head("GET", "X-A: a\rTransfer-Encoding: chunked\r\n\r\n"), true},
		{"bare LF ends a header", head("PUT", "X-A: b\n"+kind, fmt.Sprintf("Content-Length: %d\r\n\r\n", len(body))) + body, false},
		{"a chunk's size beyond 64 bits", head("PUT", kind, "Transfer-Encoding: chunked\r\n\r\n") + "10000000000000000a\r\n" + body + "\r\n0\r\n\r\n", true},
		{"a chunk extension with a request", head("PUT", kind, "Transfer-Encoding: chunked\r\n\r\n") + fmt.Sprintf("%x;x=%s\r\n%s\r\n0\r\n\r\n", len(body), "GET /hidden", body), false},
		{"trailers that forge", head("PUT", kind, "Trailer: x-ms-client-tenant-id\r\n", "Transfer-Encoding: chunked\r\n\r\n") + chunk + "0\r\nx-ms-client-tenant-id: " + evil + "\r\nContent-Length: 1\r\n\r\n", false},
		{"two Hosts", head("GET", "Host: evil.example\r\n\r\n"), true},
		{"no Host", fmt.Sprintf("GET %s%s HTTP/1.1\r\n\r\n", thing, q), true},
		{"HTTP/1.0 chunked", strings.Replace(head("PUT", kind, "Transfer-Encoding: chunked\r\n\r\n"), "HTTP/1.1", "HTTP/1.0", 1) + chunk + "0\r\n\r\n", false},
		{"the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", true},
		{"a request in a folded header", head("GET", "X-A: a\r\n "+strings.ReplaceAll(strings.TrimSuffix(hidden, "\r\n\r\n"), "\r\n", "\r\n ")+"\r\n\r\n"), false},
	} {
		t.Run("S1 "+c.name, func(t *testing.T) {
			w.forget(t)
			answers := pipeline(t, w.address, []byte(c.raw+next), 4)
			if len(answers) == 0 {
				t.Fatal("closed without an answer")
			}
			if c.refused && answers[0].status/100 != 4 && answers[0].status/100 != 5 {
				t.Errorf("accepted: %s", answers[0])
			}
			own := 0
			for _, x := range w.received(t) {
				path, query, _ := strings.Cut(x.target, "?")
				switch {
				case path != thing:
					t.Errorf("%s got %s %s", x.region, x.method, x.target)
				case strings.HasSuffix(query, "&next=1"):
					untainted(t, x)
				default:
					own++
					untainted(t, x)
					if c.refused {
						t.Errorf("refused, yet %s got %s %s", x.region, x.method, x.target)
					}
					if x.header.Get("Content-Length") != "" && len(x.header["Content-Length"])+len(x.header["Transfer-Encoding"]) != 1 {
						t.Errorf("an ambiguous message was passed on:\n%s", x.head)
					}
					if x.method == "PUT" && !strings.Contains(c.name, "hidden") && string(x.body) != body {
						t.Errorf("the provider got the body %q, want %q", x.body, body)
					}
				}
			}
			if own > 1 {
				t.Errorf("one message reached the provider %d times", own)
			}
		})
	}

	t.Run("S1 bare CR in the request line", func(t *testing.T) {
		w.forget(t)
		got := pipeline(t, w.address, []byte("GET "+thing+q+"\rX HTTP/1.1\r\nHost: "+w.address+"\r\n\r\n"), 1)
		if len(got) != 1 || got[0].status != 400 {
			t.Errorf("want one 400: %v", got)
		}
		if all := w.received(t); len(all) != 0 {
			t.Errorf("reached %v", all)
		}
	})

	// S2: a GET's body is dropped or the request refused; it is never passed on.
	for _, method := range []string{"GET", "HEAD", "DELETE"} {
		for name, framing := range map[string]string{"with a length": fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(hidden), hidden), "chunked": fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(hidden), hidden)} {
			t.Run("S2 "+method+" with a body "+name, func(t *testing.T) {
				target := w.thing(t, g, "s2-"+strings.ToLower(method)+"-"+name[:4], "westus")
				w.forget(t)
				raw := fmt.Sprintf("%s %s%s HTTP/1.1\r\nHost: %s\r\n%s%s", method, target, q, w.address, kind, framing)
				c := dial(t, w.address)
				if _, err := c.Write([]byte(raw)); err != nil {
					t.Fatal(err)
				}
				got, err := readReply(bufio.NewReader(c), method)
				if err != nil {
					t.Fatal(err)
				}
				if got.status != 400 && got.status != 413 && got.status != 415 && got.status/100 != 2 {
					t.Errorf("%s", got)
				}
				for _, x := range w.received(t) {
					if strings.HasPrefix(x.target, g+"/providers/Contoso.Raw/things/hidden") {
						t.Errorf("the hidden request reached %s", x.region)
					}
					if got.status >= 400 {
						t.Errorf("refused, yet %s got it", x.region)
					}
					if len(x.body) != 0 || x.header.Get("Transfer-Encoding") != "" {
						t.Errorf("the body was passed on: %q\n%s", x.body, x.head)
					}
				}
			})
		}
	}

	t.Run("the connection's next request is its own", func(t *testing.T) {
		w.forget(t)
		first := fmt.Sprintf("GET %s%s&first=1 HTTP/1.1\r\nHost: %s\r\n\r\n", thing, q, w.address)
		answers := pipeline(t, w.address, []byte(first+next), 3)
		if len(answers) != 2 || answers[0].status != 200 || answers[1].status != 200 {
			t.Errorf("want two good answers: %v", answers)
		}
		if all := w.received(t); len(all) != 2 {
			t.Errorf("want two requests: %v", all)
		}
	})

	// S4: excess is refused before any of it takes effect.
	over := want{status: 431, code: "InvalidRequestHeader", text: "The request header '*' is invalid: there are too many header lines."}
	many := func(n int, line func(int) string) []string {
		lines := make([]string, n)
		for i := range lines {
			lines[i] = line(i)
		}
		return lines
	}
	w.table(t, []row{
		{"S4 17 KiB of headers", message{target: thing + q, header: many(17, func(i int) string { return fmt.Sprintf("X-%02d: %s", i, strings.Repeat("x", 1018)) })}, want{status: 431}},
		{"S4 one header of 17 KiB", message{target: thing + q, header: []string{"X-A: " + strings.Repeat("x", 17<<10)}}, want{status: 431}},
		{"S4 1 MiB of headers", message{target: thing + q, header: many(1024, func(i int) string { return fmt.Sprintf("X-%04d: %s", i, strings.Repeat("x", 1016)) })}, want{status: 431}},
		{"S4 1,000 headers", message{target: thing + q, header: many(1000, func(i int) string { return fmt.Sprintf("X%d:1", i) })}, over},
		{"S4 1,000 headers of one name", message{target: thing + q, header: many(1000, func(int) string { return "X:1" })}, over},
		{"S4 a path of 64 KiB", message{target: thing + "/" + strings.Repeat("x", 64<<10) + q}, want{status: 431}},
		{"S4 a query of 64 KiB", message{target: thing + q + "&x=" + strings.Repeat("x", 64<<10)}, want{status: 431}},
		{"S4 8 KiB of headers are fine", message{target: thing + q, header: many(8, func(i int) string { return fmt.Sprintf("X-%02d: %s", i, strings.Repeat("x", 1000)) })}, want{status: 200, reaches: "raw westus"}},
		{"S4 50 headers are fine", message{target: thing + q, header: many(50, func(i int) string { return fmt.Sprintf("X-%02d: 1", i) })}, want{status: 200, reaches: "raw westus"}},
	})
}
