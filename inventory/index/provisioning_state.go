package index

import "strings"

// Terminal reports whether a state, in any casing, is final: a resource's provisioning
// state, or an operation's status (addendum, ProvisioningState property). No state at all
// means success.
func Terminal(state string) bool {
	return Successful(state) || Canceled(state) || strings.EqualFold(state, "Failed")
}

// Successful reports whether a state says that a write has succeeded.
func Successful(state string) bool {
	return state == "" || strings.EqualFold(state, "Succeeded")
}

// Canceled reports whether a state says that a write was canceled, which the contract spells
// Canceled and some providers Cancelled.
func Canceled(state string) bool {
	return strings.EqualFold(state, "Canceled") || strings.EqualFold(state, "Cancelled")
}
