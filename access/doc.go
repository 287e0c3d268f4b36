// Package access decides who calls and what they may do. An [Authenticator] turns a
// request into a [Principal]; the principal decides which subscriptions it can see and
// under which identity its calls reach the providers. The decisions are pure: callers
// pass in the data that they need.
package access
