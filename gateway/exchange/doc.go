// Package exchange holds what one request carries through the gateway: its ids,
// its caller, what it addresses and what became of it. It reads a request's
// content and writes the answers that Portico makes itself.
//
// [Begin] gives each request an [Exchange]; [From] returns it. Handlers return
// errors, and [Fail] alone turns them into answers. Whatever an answer is, its
// client has a bounded time to take it.
//
// The package knows no handler and imports nothing else of the gateway.
package exchange
