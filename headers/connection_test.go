package headers

import (
	"net/http"
	"reflect"
	"testing"
)

func TestRemoveHopByHop(t *testing.T) {
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
		{http.Header{"Connection": {"upgrade, HTTP2-Settings"}, "Upgrade": {"h2c"}, "Http2-Settings": {"x"}}, http.Header{}},
	} {
		before := c.h.Clone()
		RemoveHopByHop(c.h)
		if !reflect.DeepEqual(c.h, c.rest) {
			t.Errorf("%v: got %v, want %v", before, c.h, c.rest)
		}
	}
}
