// Package authorize decides whether the caller of a request may do what it asks for:
// by the roles that the caller and its groups are assigned, and by the owners that the
// configuration names.
//
// Every question is one action, in ARM's names, at one scope. Memory answers it; what
// memory denies is asked of the store before it is said. A caller with nothing at,
// above or below a subscription learns no more of it than of one that does not exist.
package authorize
