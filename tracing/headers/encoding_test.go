package headers

import (
	"net/http"
	"testing"
)

func TestAcceptedEncodings(t *testing.T) {
	for _, row := range []struct {
		sent           []string
		gzip, identity bool
	}{
		{nil, false, true},
		{[]string{""}, false, true},
		{[]string{"gzip"}, true, true},
		{[]string{"GZip;q=1.0"}, true, true},
		{[]string{"x-gzip"}, true, true},
		{[]string{"deflate, br"}, false, true},
		{[]string{"deflate", "br, gzip"}, true, true},
		{[]string{"gzip;q=0"}, false, true},
		{[]string{"gzip; Q = 0.001"}, true, true},
		{[]string{"*"}, true, true},
		{[]string{"*;q=0"}, false, false},
		{[]string{"*;q=0, gzip"}, true, false},
		{[]string{"*, gzip;q=0"}, false, true},
		{[]string{"identity;q=0, *"}, true, false},
		{[]string{"gzip, identity; q=0"}, true, false},
		{[]string{"identity"}, false, true},
		{[]string{"identity, *;q=0"}, false, true},
		{[]string{"gzip;q=0.5, identity"}, false, true},
		{[]string{"gzip;q=0.5, identity;q=0.4"}, true, true},
		{[]string{"gzip;q=0.5, identity;q=0.5"}, true, true},
		{[]string{"gzip;q=2"}, false, true},
		{[]string{"gzip;q=NaN"}, false, true},
		{[]string{"gzip;level=9"}, false, true},
		{[]string{"gzip;q=x"}, false, true},
	} {
		h := http.Header{}
		if row.sent != nil {
			h["Accept-Encoding"] = row.sent
		}
		if got := AcceptedEncodings(h); got != (Encodings{row.gzip, row.identity}) {
			t.Errorf("%q: %+v", row.sent, got)
		}
	}
}
