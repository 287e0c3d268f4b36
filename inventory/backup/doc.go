// Package backup copies SQLite's database into a file while it is in use, and puts such
// a file in the place of a database that is not.
//
// What is restored is behind the world: providers have gone on. Restore therefore ends
// what clients had under way when the backup was made, as nobody knows how that went on,
// and it would change now what was made since. What the index does not know any more a
// sweep finds.
package backup
