package rbac

import (
	"fmt"
	"net/http"
	"strings"

	"portico/access"
	"portico/access/roles"
	"portico/arm"
	"portico/gateway/exchange"
	"portico/regions"
)

// warnUnknown warns if actions of a role name no known resource type. The role is stored
// all the same, as the type may come later, but those actions have no effect. A header of
// the answer counts them; the log names the first one.
func (g Definitions) warnUnknown(w http.ResponseWriter, x *exchange.Exchange, permissions []roles.Permission) {
	n, first := 0, ""
	known := knownTypes(g.Map)
	for _, p := range permissions {
		for _, actions := range [][]string{p.Actions, p.NotActions} {
			for _, action := range actions {
				if known.mayMatch(action) {
					continue
				}
				if n++; n == 1 {
					first = action
				}
			}
		}
	}
	if n == 0 {
		return
	}
	w.Header().Set("Warning", fmt.Sprintf(`299 - "%d of the actions are of no resource type that is known here"`, n))
	if x.Trail == nil {
		x.Warn("a role has actions of unknown resource types", fmt.Errorf("%d of them, such as %s, of the role %s", n, access.Quoted(first), requestedName(x)))
	}
}

// prefixes are the folded prefixes of known actions: "NAMESPACE/TYPE/", or "NAMESPACE/"
// for a whole namespace.
type prefixes []string

// knownTypes returns the prefixes of the map's types, of actions on whole namespaces, and
// of Portico's own namespaces.
func knownTypes(m *regions.Map) prefixes {
	all := prefixes{"microsoft.authorization/", "microsoft.features/", "microsoft.insights/", "microsoft.resources/"}
	for _, p := range m.Providers() {
		for _, of := range []string{"register", "unregister", "operations"} {
			all = append(all, arm.Fold(p.Namespace+"/"+of+"/"))
		}
		for _, t := range p.Types() {
			all = append(all, arm.Fold(p.Namespace+"/"+t.Name+"/"))
		}
	}
	return all
}

// mayMatch reports whether an action, which may have wildcards, can match a known one. An
// action with a wildcard for the type can.
func (all prefixes) mayMatch(action string) bool {
	literal, _, wild := strings.Cut(arm.Fold(action), "*")
	for _, prefix := range all {
		rest, below := strings.CutPrefix(literal, prefix)
		switch {
		case wild && (below || strings.HasPrefix(prefix, literal)), below && (strings.Count(prefix, "/") == 1 || isVerb(rest)):
			return true
		}
	}
	return false
}

// isVerb reports whether a text is what follows a type in an action's name.
func isVerb(s string) bool {
	return s == "read" || s == "write" || s == "delete" || s == "action" || strings.HasSuffix(s, "/action")
}
