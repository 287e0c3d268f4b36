// Package evidence writes what suites have measured into pages for readers: where and with
// what it was measured, tables, and the least, the median and the greatest of figures. Each
// suite has a place of its own on its page, between two lines that name the command.
package evidence
