package headers

import (
	"net/http"
	"reflect"
	"testing"
)

// What concerns one connection only does not pass, whatever the map lists.
func TestHopByHopEndsHere(t *testing.T) {
	also := map[string]bool{"X-Kept": true, "X-First": true, "X-Second": true, "X-Third": true, "X-Fourth": true}
	for _, c := range []struct{ h, rest http.Header }{
		{http.Header{}, http.Header{}},
		{http.Header{"X-Kept": {"1"}, "Connection": {"close"}}, http.Header{"X-Kept": {"1"}}},
		{ // lines after an empty one count too
			http.Header{"Connection": {"", "x-first ,, X-SECOND", "\tx-third"}, "X-First": {"1"}, "X-Second": {"2"}, "X-Third": {"3", "4"}, "X-Fourth": {"5"}},
			http.Header{"X-Fourth": {"5"}},
		},
		{
			http.Header{"Keep-Alive": {"1"}, "Proxy-Connection": {"1"}, "Proxy-Authenticate": {"1"}, "Proxy-Authorization": {"1"}, "Te": {"trailers"}, "Trailer": {"X"},
				"Transfer-Encoding": {"chunked"}, "Upgrade": {"h2c"}, "Http2-Settings": {"x"}, "Proxy": {"evil"}, "Expect": {"100-continue"}, "Alt-Svc": {"x"}, "Etag": {"y"}},
			http.Header{"Etag": {"y"}},
		},
		{http.Header{"Connection": {"upgrade, HTTP2-Settings, etag"}, "Upgrade": {"h2c"}, "Http2-Settings": {"x"}, "Etag": {"y"}}, http.Header{}},
	} {
		before, to := c.h.Clone(), http.Header{}
		if ToClient(to, c.h, also); !reflect.DeepEqual(to, c.rest) {
			t.Errorf("%v: got %v, want %v", before, to, c.rest)
		}
	}
}
