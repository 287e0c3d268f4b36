package roles

// AppendBelow appends the scopes strictly below one, in any casing, at which an action is
// allowed. Some may lie in others.
func (g Grants) AppendBelow(to []string, action, scope string) []string {
	for i := range g {
		if place(scope, g[i].Scope) == over && g[i].Role.Allows(action) {
			to = append(to, g[i].Scope)
		}
	}
	return to
}
