package authorize

import (
	"slices"
	"testing"

	"portico/access/roles"
)

func TestWithin(t *testing.T) {
	reads := roles.Compile(roles.Definition{Permissions: []roles.Permission{{Actions: []string{"*/read"}}}})
	writes := roles.Compile(roles.Definition{Permissions: []roles.Permission{{Actions: []string{"*/write"}}}})
	const s = "/subscriptions/s"
	r := &Readable{
		action: "N.S/things/read",
		owned:  roles.Grants{{Scope: s + "/g/b", Role: reads}, {Scope: "/subscriptions/other", Role: reads}, {Scope: s + "/g/c", Role: writes}},
		granted: roles.Grants{
			{Scope: s + "/g/b-1", Role: reads}, {Scope: s + "/g/b/x/y", Role: reads}, {Scope: s + "/g/b", Role: reads},
			{Scope: s + "/g/c/x/y", Role: reads}, {Scope: s + "2/g/a", Role: reads}, {Scope: s, Role: writes},
		},
	}
	for scope, want := range map[string][]string{
		"/Subscriptions/S":     {s + "/g/b", s + "/g/b-1", s + "/g/c/x/y"},
		"/subscriptions/s/g/C": {s + "/g/c/x/y"},
		"/subscriptions/s/g/b": {s + "/g/b/x/y"}, // which no one asks, as all of it may be read
		"/subscriptions/none":  nil,
	} {
		if got := r.Within(scope); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", scope, got, want)
		}
	}
}
