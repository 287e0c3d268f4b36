// Package roles answers for who may do what: role definitions, role assignments and
// the permissions that a caller has, at the tenant, a subscription, a group or a
// resource. The inventory keeps them; package access/roles decides what they allow, and
// package authorize whether a request is.
//
// Nobody widens what lies beyond their reach. A custom role is changed only by who may
// change role definitions at every scope at which it is assignable, or will be: what it
// allows holds at all of them. It is assigned only where it is assignable; a grant of
// it elsewhere, left from before, does not count.
//
// The owners that the configuration names are shown as assignments too. They are
// changed in the configuration alone.
package roles
