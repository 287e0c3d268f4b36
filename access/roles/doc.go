// Package roles decides what role assignments allow, as Azure's role-based access
// control does: a [Definition] says which actions its role allows, a [Grant] gives a
// role to a caller at a scope, and whatever lies below the scope inherits it.
//
// The decisions are pure and allocate nothing. Who is granted what is stored by package
// inventory; which action a request stands for, package routing knows.
//
// Data actions are kept and shown, but not judged: they concern what providers offer
// past the resource manager.
package roles
