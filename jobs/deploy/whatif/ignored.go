package whatif

import (
	"strings"

	"portico/template/expr"
)

// identity lists the members that identify a resource, which are not compared.
var identity = []string{"id", "name", "type", "apiversion"}

// names returns the members to compare: those in the template, those that were sent last, and all
// current ones if the client owns the whole object.
func (d *differ) names(s sides, owned bool) []string {
	var names []string
	seen := map[string]bool{}
	add := func(v expr.Value) {
		for _, m := range v.Members() {
			if folded := strings.ToLower(m.Name); !seen[folded] {
				seen[folded] = true
				names = append(names, m.Name)
			}
		}
	}
	add(s.planned)
	if d.recorded {
		add(s.sent)
	}
	if owned {
		add(s.now)
	}
	return names
}
