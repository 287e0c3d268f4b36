// Package roles serves access control: role definitions, role assignments and the
// permissions that a caller has, at the tenant, a subscription, a group or a
// resource. The inventory keeps them; package access/roles decides what they allow, and
// package authorize whether a request is.
//
// No caller widens rights beyond its reach. To change a custom role, a caller needs the
// right to change role definitions at every scope where the role is assignable, before
// and after: what it allows holds at all of them. It is assigned only where it is assignable; a grant of
// it elsewhere, left from before, does not count.
//
// The owners that the configuration names are shown as assignments too. They are
// changed in the configuration alone.
package roles
