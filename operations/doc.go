// Package operations is the work that Portico does by itself, outside of any
// client's request.
//
// Today that is keeping the index true where an answer left it in doubt: a
// [Asker] asks the provider, by GET, whether a resource stands, and tells the
// inventory; a [Keeper] has it do so for every row that is not plainly alive,
// again and again, until each is settled. Clients' requests use the same Asker
// where their answer waits for one.
package operations
