// Package storetest holds every engine of the inventory to one contract: a
// suite that needs nothing but a way to open an empty database. What it shows
// is what the SQL does; the rule that the index changes by has tests of its
// own beside it.
package storetest
