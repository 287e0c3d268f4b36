package arm

import (
	"net/http"
	"strings"
	"testing"
)

func TestPreconditionsOfWrites(t *testing.T) {
	const etag = `W/"abc"`
	for _, c := range []struct {
		match, noneMatch string
		absent, present  bool // whether the write may proceed
	}{
		{"", "", true, true},
		{`""`, "", true, true},
		{"*", "", false, true},
		{`W/"abc"`, "", false, true},
		{`"abc"`, "", false, true},
		{"abc", "", false, true},
		{`"x", W/"abc"`, "", false, true},
		{`"x,abc"`, "", false, false},
		{`"x"`, "", false, false},
		{"", "*", true, false},
		{"", `"abc"`, true, false},
		{"", `"x"`, true, true},
	} {
		h := http.Header{}
		if c.match != "" {
			h.Set("If-Match", c.match)
		}
		if c.noneMatch != "" {
			h.Set("If-None-Match", c.noneMatch)
		}
		p := ParsePreconditions(h)
		if got := p.Write("", "t") == nil; got != c.absent {
			t.Errorf("%q %q on nothing: %v", c.match, c.noneMatch, got)
		}
		if got := p.Write(etag, "t") == nil; got != c.present {
			t.Errorf("%q %q on a representation: %v", c.match, c.noneMatch, got)
		}
	}
}

func TestWeakETag(t *testing.T) {
	a, b := WeakETag(map[string]int{"x": 1}), WeakETag(map[string]int{"x": 2})
	if a == b || !strings.HasPrefix(a, `W/"`) || len(a) != 4+128 {
		t.Errorf("%s, %s", a, b)
	}
}
