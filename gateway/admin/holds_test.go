package admin

import "testing"

// A command can be pasted, whatever a name in it holds.
func TestCommandsAreQuoted(t *testing.T) {
	for want, words := range map[string][]string{
		"portico jobs show a.b-0":                 {"jobs", "show", "a.b-0"},
		`portico unstick '/a b' --ask`:            {"unstick", "/a b", "--ask"},
		`portico unstick '/it'\''s$(rm -rf x)'`:   {"unstick", "/it's$(rm -rf x)"},
		"portico unstick '/ü`x`;y' --fence --ask": {"unstick", "/ü`x`;y", "--fence", "--ask"},
		"portico retire '' --dry-run":             {"retire", "", "--dry-run"},
	} {
		if got := command(words...); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
