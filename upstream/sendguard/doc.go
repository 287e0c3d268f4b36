// Package sendguard decides which bytes of a write may leave, and knows whether any
// has: rule R1 of the index.
//
// A [Guard] belongs to one request. A [Conn] consults the guard of the request that
// it carries before each system call that writes, also when the process was stopped
// or the call had to wait. It carries one request at a time: HTTP/1.1 without
// pipelining.
package sendguard
