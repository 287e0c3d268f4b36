package arm

import "strings"

// GroupOf returns the subscription and the resource group of a folded ID, both empty if
// it has no group.
func GroupOf(id string) (sub, group string) {
	const at = 4 // "", subscriptions, its id, resourcegroups
	if parts := strings.SplitN(id, "/", at+2); len(parts) > at {
		return parts[2], parts[at]
	}
	return "", ""
}
