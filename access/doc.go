// Package access answers who calls and what they may do. An [Authenticator]
// turns a request into a [Principal]; the principal says which subscriptions it
// can see and under which identity its calls reach the providers. The decisions
// are pure: whatever data they need is handed in.
package access
