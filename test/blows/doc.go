// Package blows holds only tests: each durable kind of work is done undisturbed, and then
// once for each blow, at each failpoint that it comes to. Whatever the blow, the work ends
// as it did undisturbed: the same rows in the store, the same resources at the providers,
// the same news there and in the change feed.
//
// A blow is one of four. Kill: the only gateway is killed at the point, over SQLite, and
// started again. Repeat: it is killed there twice, the second time in what it does after the
// first. Fail: the step fails there, where that can be. Pause: one of two gateways over
// PostgreSQL stands still at the point, its whole process, until the other one has brought
// the work to its end; then it goes on.
//
// Clients do what clients do: they repeat a request that brought no answer or one by 5xx,
// and send again what a batch says to be unknown.
//
// The short form strikes each point once. The long one, each kind at each point that it
// comes to in each way, is that of make evidence.
package blows
