// Package admission refuses requests before anything is done for them: those that a
// lock or the state of their subscription forbids, and those whose outcome the
// store has no room to remember. The proxy and Portico's own routes both ask it.
package admission
