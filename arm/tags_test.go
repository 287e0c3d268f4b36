package arm

import (
	"maps"
	"testing"
)

func TestTagOperations(t *testing.T) {
	type tags = map[string]string
	for _, c := range []struct {
		operation           string
		current, sent, want tags
	}{
		{"Merge", nil, tags{"a": "1"}, tags{"a": "1"}},
		{"merge", tags{"a": "1", "B": "2"}, tags{"b": "3", "c": ""}, tags{"a": "1", "b": "3", "c": ""}},
		{"Replace", tags{"a": "1"}, tags{"b": "2"}, tags{"b": "2"}},
		{"REPLACE", tags{"a": "1"}, nil, tags{}},
		{"Delete", tags{"a": "1", "b": "2", "c": "3", "d": "D"}, tags{"A": "", "b": "2", "c": "other", "d": "d"}, tags{"c": "3", "d": "D"}},
		{"Delete", nil, tags{"a": ""}, tags{}},
	} {
		o, known := ParseTagOperation(c.operation)
		before := maps.Clone(c.current)
		if got := o.Apply(c.current, c.sent); !known || !maps.Equal(got, c.want) || !maps.Equal(before, c.current) {
			t.Errorf("%s of %v to %v: %v", c.operation, c.sent, c.current, got)
		}
	}
	if _, known := ParseTagOperation("Add"); known {
		t.Error("an operation that there is none")
	}
}

func TestReservedWords(t *testing.T) {
	for name, want := range map[string]bool{
		"azure": true, "Azure": true, "azure1": false, "office365": true, "my-Microsoft-vm": true, "XBOX": true, "relogin": true,
		"vm": false, "windowsill": true, "excel": true, "excellent": false,
	} {
		if ReservedName(name) != want {
			t.Errorf("%s", name)
		}
	}
	if ReservedTagPrefix("Azure-x") != "azure" || ReservedTagPrefix("my azure") != "" {
		t.Error("prefixes of tags")
	}
}
