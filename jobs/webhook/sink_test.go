package webhook

import (
	"testing"

	"portico/config"
	"portico/events"
)

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"a", "a", true}, {"a", "ab", false}, {"A*", "ab", true}, {"a*", "ba", false}, {"*b", "ab", true}, {"*b", "abc", false},
		{"*", "", true}, {"a*c", "abbc", true}, {"a*c", "ac", true}, {"a*a", "a", false}, {"*x*", "axb", true}, {"*x*", "ab", false},
		{"a*b*c", "aXbYbZc", true}, {"a*bc*c", "abc", false}, {"", "", true}, {"", "a", false}, {"**", "a", true},
		{"Microsoft.Resources.*Failure", "Microsoft.Resources.ResourceWriteFailure", true},
	} {
		if got := matchesAny([]string{c.pattern}, c.text); got != c.want {
			t.Errorf("%q like %q: %v", c.text, c.pattern, got)
		}
	}
}

func TestSinkWants(t *testing.T) {
	e := &events.Event{
		Subscription: "s", Key: "/subscriptions/s/resourcegroups/prod-1/providers/contoso.compute/virtualmachines/m",
		Payload: events.Payload{Action: "Contoso.Compute/virtualMachines/delete", Status: events.Succeeded},
	}
	one := func(set func(*config.Sink)) *Sink {
		s := &Sink{}
		set(&s.Sink)
		return s
	}
	for name, c := range map[string]struct {
		sink *Sink
		want bool
	}{
		"all":            {one(func(*config.Sink) {}), true},
		"a type":         {one(func(s *config.Sink) { s.Types = []string{"x", "*DeleteSuccess"} }), true},
		"another type":   {one(func(s *config.Sink) { s.Types = []string{"*WriteSuccess"} }), false},
		"an action":      {one(func(s *config.Sink) { s.Actions = []string{"contoso.compute/*"} }), true},
		"another action": {one(func(s *config.Sink) { s.Actions = []string{"*/write"} }), false},
		"group":          {one(func(s *config.Sink) { s.ResourceGroups = []string{"Prod-*"} }), true},
		"another group":  {one(func(s *config.Sink) { s.ResourceGroups = []string{"test-*"} }), false},
		"both": {one(func(s *config.Sink) {
			s.ResourceGroups, s.Types = []string{"prod-*"}, []string{"*WriteSuccess"}
		}), false},
	} {
		if got := c.sink.wants(e); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	e.Key = "/subscriptions/s/providers/microsoft.authorization/locks/l"
	if one(func(s *config.Sink) { s.ResourceGroups = []string{"*"} }).wants(e) {
		t.Error("what lies in no group is of all groups")
	}
}
