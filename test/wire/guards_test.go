package wire

import (
	"fmt"
	"net"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
)

// pollers are the headers that clients follow, with their token.
var pollers = []string{"Location", "Azure-AsyncOperation", "Operation-Location"}

// trap is an address that must not be called; it counts calls.
type trap struct {
	address string
	calls   atomic.Int64
}

func startTrap(t *testing.T) *trap {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	x := &trap{address: listener.Addr().String()}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			x.calls.Add(1)
			_ = c.Close()
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
		if n := x.calls.Load(); n != 0 {
			t.Errorf("an address out of a provider's answer was called %d times", n)
		}
	})
	return x
}

// leaks lists parts of foreign addresses that no client may see. None can occur in a
// time or in an id that the gateway makes.
var leaks = []string{"evil.example", "169.254.169.254", ":444/", "127.0.0.", "ftp:", "secret"}

func leaked(text string) string {
	for _, part := range leaks {
		if strings.Contains(text, part) {
			return part
		}
	}
	return ""
}

// standIn is a polling URL of the gateway's own.
var standIn = regexp.MustCompile("^" + quoteMeta(publicURL+S+"/providers/Contoso.Raw/locations/westus/operation") + `(results|Statuses)/[A-Za-z0-9_-]{20,}\?api-version=2024-01-01$`)

// stoodIn checks that a hidden URL was replaced by a polling URL of the gateway's own,
// results or statuses according to the header, and that nothing else can be polled but
// the result of an operation that was accepted.
func stoodIn(t *testing.T, got reply, header string) {
	t.Helper()
	for _, name := range pollers {
		kind := "Statuses"
		if name == "Location" {
			kind = "results"
		}
		sent := name == header || name == "Location" && got.status == 202
		switch values := got.header.Values(name); {
		case !sent && len(values) != 0:
			t.Errorf("%s: %q", name, values)
		case sent && (len(values) != 1 || standIn.FindStringSubmatch(values[0]) == nil || standIn.FindStringSubmatch(values[0])[1] != kind):
			t.Errorf("%s: %q, want one of the gateway's own operation%s", name, values, kind)
		}
	}
}

// F4: a polling URL is absolute and on the public host, or absent.
func testPollingGuards(t *testing.T, w *world) {
	const q = "?" + V
	g := w.group(t, "polling")
	thing := w.thing(t, g, "polling", "westus")
	own := w.scripted["westus"].url
	x := startTrap(t)
	const tail = "/subscriptions/" + subscription + "/providers/Contoso.Raw/locations/westus/operationResults/1?" + V + "&t=a%2Fb"

	// run scripts one answer to one method and checks the named header.
	run := func(t *testing.T, method, target string, status int, lines []string, check func(*testing.T, reply)) {
		t.Helper()
		answer := ok(status, "", lines...)
		if status == 200 || status == 201 {
			answer = ok(status, `{"id":"x","name":"polling","location":"westus","properties":{"provisioningState":"Updating"}}`, lines...)
		}
		path, _, _ := strings.Cut(target, "?")
		w.scripted["westus"].on(path, always(answer))
		m := message{method: method, target: target}
		if method == "PUT" || method == "PATCH" {
			m.body = located("westus")
		}
		w.run(t, row{message: m, want: want{status: status, reaches: "raw westus", check: func(t *testing.T, got reply, _ []received) { t.Helper(); check(t, got) }}})
	}
	action := thing + "/act" + q
	for _, header := range pollers {
		t.Run(header+" foreign", func(t *testing.T) {
			run(t, "POST", action, 202, []string{header + ": http://" + x.address + tail}, func(t *testing.T, got reply) {
				stoodIn(t, got, header)
				if strings.Contains(got.String(), x.address) {
					t.Errorf("the address reached the client: %s", got)
				}
			})
		})
		t.Run(header+" the provider's own", func(t *testing.T) {
			run(t, "POST", action, 202, []string{header + ": " + own + tail}, func(t *testing.T, got reply) {
				if v := got.header.Values(header); len(v) != 1 || v[0] != publicURL+tail {
					t.Errorf("%s: %q, want it on the public host", header, v)
				}
			})
		})
		t.Run(header+" twice, the second foreign", func(t *testing.T) {
			run(t, "POST", action, 202, []string{header + ": " + own + tail, header + ": https://evil.example" + tail}, func(t *testing.T, got reply) {
				if strings.Contains(got.String(), "evil.example") || len(got.header.Values(header)) > 1 {
					t.Errorf("%s: %q", header, got.header.Values(header))
				}
			})
		})
		t.Run(strings.ToLower(header)+" in lower case", func(t *testing.T) {
			run(t, "POST", action, 202, []string{strings.ToLower(header) + ": https://evil.example" + tail}, func(t *testing.T, got reply) {
				if strings.Contains(got.String(), "evil.example") {
					t.Errorf("%s: %q", header, got.header.Values(header))
				}
			})
		})
		for i, c := range []struct {
			method string
			status int
		}{{"PUT", 201}, {"PUT", 200}, {"PUT", 202}, {"PATCH", 202}, {"POST", 200}, {"GET", 202}, {"GET", 200}, {"POST", 500}, {"DELETE", 202}} {
			target := thing + q
			if c.method == "POST" {
				target = action
			}
			if c.method == "DELETE" {
				target = w.thing(t, g, fmt.Sprintf("removed-%s-%d", strings.ToLower(header), i), "westus") + q
			}
			t.Run(fmt.Sprintf("%s on %s %d", header, c.method, c.status), func(t *testing.T) {
				run(t, c.method, target, c.status, []string{header + ": https://evil.example" + tail}, func(t *testing.T, got reply) {
					if strings.Contains(got.String(), "evil.example") {
						t.Errorf("%s: %q", header, got.header.Values(header))
					}
					switch {
					case c.method == "GET", c.status == 500, c.status != 202 && header == "Location":
						// It starts no operation, or names a resource.
						if v := got.header.Values(header); len(v) != 0 {
							t.Errorf("%s: %q, want none", header, v)
						}
					default:
						stoodIn(t, got, header)
					}
				})
				if c.method == "DELETE" {
					return // the row is now being deleted
				}
				run(t, c.method, target, c.status, []string{header + ": " + own + tail}, func(t *testing.T, got reply) {
					if v := got.header.Values(header); len(v) != 1 || v[0] != publicURL+tail {
						t.Errorf("%s: %q", header, v)
					}
				})
			})
		}
	}

	for _, method := range []string{"PUT", "PATCH", "DELETE", "POST"} {
		t.Run(method+" accepted without any", func(t *testing.T) {
			id := w.thing(t, g, "lost-"+method, "westus")
			target := id + q
			if method == "POST" {
				target = id + "/act" + q
			}
			run(t, method, target, 202, nil, func(t *testing.T, got reply) {
				for i, header := range []string{"Location", "Azure-AsyncOperation"} {
					if v := got.header.Values(header); len(v) != 1 || !standIn.MatchString(v[0]) || !strings.Contains(v[0], []string{"/operationresults/", "/operationStatuses/"}[i]) {
						t.Errorf("%s: %q", header, v)
					}
				}
				if v := got.header.Get("Retry-After"); v != "15" {
					t.Errorf("Retry-After %q", v)
				}
			})
		})
	}

}

// quote is a JSON string of s without further escapes.
func quote(s string) string { return `"` + strings.ReplaceAll(s, `\`, `\\`) + `"` }
