package jsontext

import "testing"

func TestValue(t *testing.T) {
	for _, row := range []struct{ object, want string }{
		{`{"a":1,"b":{"a":2}}`, `1`},
		{`{"a":1,"a":"two"}`, `"two"`},
		{`{"\u0061": null }`, `null`},
		{`{"A":1}`, ``},
		{`{"a":1,`, `1`},
		{`null`, ``},
		{``, ``},
		{`["a"]`, ``},
	} {
		if got := string(Value([]byte(row.object), "a")); got != row.want {
			t.Errorf("%s: %q, want %q", row.object, got, row.want)
		}
	}
}
