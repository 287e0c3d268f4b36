package index

import "strings"

// Terminal reports whether a resource's provisioning state or an operation's status, in any
// casing, is final (addendum, ProvisioningState property). No state means success.
func Terminal(state string) bool {
	return Successful(state) || Canceled(state) || strings.EqualFold(state, "Failed")
}

// Successful reports whether a state means that a write has succeeded.
func Successful(state string) bool {
	return state == "" || strings.EqualFold(state, "Succeeded")
}

// Canceled reports whether a state means that a write was canceled. The contract spells it
// Canceled, some providers Cancelled.
func Canceled(state string) bool {
	return strings.EqualFold(state, "Canceled") || strings.EqualFold(state, "Cancelled")
}
