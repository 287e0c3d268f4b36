// Package hostile attacks the built program as a stranger would: over real
// sockets, with the tokens of two tenants that do not trust each other, in front of
// a provider that answers whatever hurts most. Each test is an attack, and says
// what it must not gain. SECURITY.md lists them.
package hostile
