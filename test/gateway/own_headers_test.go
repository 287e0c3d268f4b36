package gateway_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"
)

// Each answer has the gateway's own headers, and each of them once, whoever else set
// headers before: the provider, the compressor, a handler that then failed.
func TestOwnHeadersStandOnce(t *testing.T) {
	way := newWholeWay(t, warmSite(t))
	for what, path := range map[string]string{"a provider's": machinePath("g", "m") + api, "a resource that is not there": machinePath("g", "none") + api, "a group": groupPath("g") + own, "no route": "/none?api-version=1"} {
		for _, encoding := range []string{"gzip", "identity"} {
			call := strings.Replace(strings.Replace(callOf, machinePath("g", "m")+api, path, 1), "Accept-Encoding: gzip", "Accept-Encoding: "+encoding, 1)
			if _, err := io.WriteString(way.conn, call); err != nil {
				t.Fatal(err)
			}
			answer, err := http.ReadResponse(bufio.NewReader(way.conn), nil)
			must(t, err)
			if _, err := io.Copy(io.Discard, answer.Body); err != nil {
				t.Fatal(err)
			}
			_ = answer.Body.Close()
			for name, values := range answer.Header {
				if len(values) != 1 {
					t.Errorf("%s, %s: %s has %q", what, encoding, name, values)
				}
			}
			for _, name := range []string{"Cache-Control", "Pragma", "Expires", "X-Content-Type-Options", "X-Ms-Request-Id", "X-Ms-Correlation-Request-Id", "X-Ms-Routing-Request-Id"} {
				if answer.Header.Get(name) == "" {
					t.Errorf("%s, %s: %s is missing", what, encoding, name)
				}
			}
		}
	}
}
