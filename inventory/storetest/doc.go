// Package storetest tests every engine of the inventory against one contract: the suite
// needs only a way to open an empty database. It tests the SQL; the rule by which the
// index changes has its own tests.
package storetest
