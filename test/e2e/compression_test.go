package e2e

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"

	"portico/test/harness"
)

// Clients that ask for it get their answers compressed, by either protocol; what is short
// goes as it is, and so does all for others.
func TestAnswersAreCompressed(t *testing.T) {
	t.Parallel()
	for protocol, config := range map[string]harness.Config{
		"HTTP/1.1": {},
		"HTTP/2.0": {TLS: true},
		"off":      {Server: "  compression: off\n"},
	} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			w := harness.NewWorld(t, harness.WorldOptions{Config: config})
			w.PutGroup(t, "rg")
			for _, name := range []string{"a", "b", "c", "d"} {
				w.PutResource(t, "rg", machines+name, `{"location":"westus","properties":{"note":"`+strings.Repeat(name, 300)+`"}}`)
			}
			get := func(path, accept string) (header http.Header, text string) {
				t.Helper()
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.Portico.URL+path, nil)
				harness.OK(t, err)
				r.Header.Set("Accept-Encoding", accept) // so that the client does not unpack what it gets
				got, err := w.Portico.Client.Do(r)
				harness.OK(t, err)
				defer got.Body.Close()
				sent, err := io.ReadAll(got.Body)
				if err != nil || got.StatusCode != http.StatusOK || !strings.HasPrefix(protocol, got.Proto) && protocol != "off" {
					t.Fatalf("%s: %s %d %v %s", path, got.Proto, got.StatusCode, err, sent)
				}
				if got.Header.Get("Content-Encoding") != "gzip" {
					return got.Header, string(sent)
				}
				z, err := gzip.NewReader(bytes.NewReader(sent))
				harness.OK(t, err)
				plain, err := io.ReadAll(z)
				harness.OK(t, err)
				return got.Header, string(plain)
			}
			if short, _ := get(w.GroupPath("rg")+"?api-version=2021-04-01", "gzip"); short.Get("Content-Encoding") != "" {
				t.Errorf("what is short: %v", short)
			}
			for _, path := range []string{
				w.GroupPath("rg") + "/providers/Contoso.Compute/virtualMachines?api-version=" + harness.Version, // merged
				w.SubscriptionPath() + "/providers?api-version=2021-04-01",                                      // Portico's own
			} {
				plain, want := get(path, "identity")
				if plain.Get("Content-Encoding") != "" {
					t.Errorf("%s: %v", path, plain)
				}
				packed, text := get(path, "gzip")
				if text != want {
					t.Errorf("%s: %s\nwant %s", path, text, want)
				}
				if protocol != "off" && (packed.Get("Content-Encoding") != "gzip" || packed.Get("Vary") != "Accept-Encoding") {
					t.Errorf("%s: %v", path, packed)
				}
				if protocol == "off" && (packed.Get("Content-Encoding") != "" || packed.Get("Vary") != "") {
					t.Errorf("%s: %v", path, packed)
				}
			}
		})
	}
}
