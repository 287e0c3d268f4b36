package schema

import "testing"

func TestTypeOf(t *testing.T) {
	for path, want := range map[string]string{
		"/subscriptions/{s}/resourceGroups/{g}/providers/A.B/things/{n}":               "A.B/things",
		"/subscriptions/{s}/resourceGroups/{g}/providers/A.B/things/{n}/parts/default": "A.B/things/parts",
		"/{scope}/providers/A.B/marks/{n}?disambiguation_dummy":                        "A.B/marks",
		"/subscriptions/{s}/providers/C.D/hosts/{h}/providers/A.B/things/{n}/":         "A.B/things",
		"/subscriptions/{s}/resourceGroups/{g}/providers/A.B/things":                   "",
		"/subscriptions/{s}/resourceGroups/{g}/providers/{namespace}/things/{n}":       "",
		"/subscriptions/{s}/resourceGroups/{g}/providers/A.B/{type}/{n}":               "",
		"/subscriptions/{s}/resourceGroups/{g}/providers/A.B":                          "",
		"/subscriptions/{s}/resourceGroups/{g}":                                        "",
	} {
		if got := typeOf(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}
