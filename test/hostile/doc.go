// Package hostile attacks the built program like a stranger: over real sockets, with
// the tokens of two tenants that do not trust each other, before a provider that gives
// the most harmful answers. Each test is an attack, and states what it must not gain.
// docs/guarantees.md lists them.
package hostile
