package upstream

import "testing"

func TestOverall(t *testing.T) {
	for _, c := range []struct {
		parts []Condition
		want  Condition
	}{
		{nil, Unknown},
		{[]Condition{Unknown, Unknown}, Unknown},
		{[]Condition{Unknown, Up}, Up},
		{[]Condition{Up, Up}, Up},
		{[]Condition{Down, Down}, Down},
		{[]Condition{Down, Up}, Degraded},
		{[]Condition{Down, Unknown}, Degraded},
		{[]Condition{Degraded, Degraded}, Degraded},
	} {
		if got := Overall(c.parts); got != c.want {
			t.Errorf("%v: %v, want %v", c.parts, got, c.want)
		}
	}
}
